#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "lab/task/babi/story.h"

namespace tessera::task {

/// An answer as one word, in lower case: "milk,apple" is one.
std::string answer_word(const std::string& answer);

/// Adds the words of the story's statements and questions, and its answers.
void collect_words(const BabiStory& story, std::set<std::string>& words);

/// Words and their ids: 0 is padding, then the words in alphabetical order.
class BabiVocabulary {
 public:
  static constexpr int64_t kPadding = 0;

  explicit BabiVocabulary(const std::set<std::string>& words);

  /// With padding.
  int64_t size() const { return static_cast<int64_t>(words_.size()); }
  /// Throws std::out_of_range on a word that is not in it.
  int64_t id(const std::string& word) const { return ids_.at(word); }
  /// The word of an id; padding is "".
  const std::string& word(int64_t id) const { return words_.at(static_cast<size_t>(id)); }

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, int64_t> ids_;
};

}  // namespace tessera::task
