#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/task/sequence/sequence_task.h"

namespace tessera::task {

constexpr int64_t kBabiTasks = 20;

/// "qa3_train.txt".
std::string babi_file_name(int64_t task, Split split);

/// A line of a bAbI story (Weston et al. 2015): a statement, or a question with its answer.
struct BabiLine {
  std::string text;              ///< "Mary went to the office.", "Where is Mary?"
  std::string answer;            ///< "office", "milk,apple"; empty for a statement
  std::vector<int64_t> support;  ///< of a question: the lines that answer it, from 1

  bool is_question() const { return !answer.empty(); }
  bool operator==(const BabiLine&) const = default;
};

/// Line i has the number i + 1 in its file. A question is about the statements above it.
using BabiStory = std::vector<BabiLine>;

/// The story as in the files of the data set: "1 Mary went to the office.", and for a question
/// "3 Where is Mary?", the answer and the numbers of the supporting lines, separated by tabs.
std::string story_text(const BabiStory& story);

/// What a text is read as: its words in lower case, and its punctuation. "Where is Mary?" is
/// where, is, mary, ?.
std::vector<std::string> babi_words(const std::string& text);
/// An answer as one word, in lower case: "milk,apple" is one.
std::string answer_word(const std::string& answer);

}  // namespace tessera::task
