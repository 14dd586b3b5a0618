#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lab/task/babi/story.h"
#include "lab/task/sequence/sequence_task.h"

namespace tessera::task {

/// Adds the words of the story's statements and questions, and its answers.
void collect_words(const BabiStory& story, std::set<std::string>& words);

/// Words and their ids: 0 is padding, then the words in alphabetical order.
class BabiVocabulary {
 public:
  explicit BabiVocabulary(const std::set<std::string>& words);

  /// With padding.
  int64_t size() const { return std::ssize(words_); }
  /// Throws std::out_of_range on a word that is not in it.
  int64_t id(const std::string& word) const { return ids_.at(word); }
  /// The word of an id; padding is "".
  const std::string& word(int64_t id) const { return words_.at(id); }

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, int64_t> ids_;
};

struct BabiConfig {
  std::string folder;
  std::vector<int64_t> tasks = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
  int64_t most_sentences = 70;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("folder", folder, "folder with qa1_train.txt, qa1_valid.txt, qa1_test.txt and so on");
    field("tasks", tasks, "which of the tasks", config::between(1, kBabiTasks));
    // Differs from the paper's code: it means to keep 130 sentences in task 3, but compares a text
    // with a number there, so that it keeps 70, too.
    field("most_sentences", most_sentences,
          "maximum number of sentences that are read of a story, the last ones",
          config::between(1, 10000));
  }
};

/// A story as a model reads it once, with questions asked on the way.
struct BabiReading {
  int64_t first_question, questions;  ///< consecutive ones of BabiQuestions
  int64_t first_sentence, sentences;  ///< of the story, up to the last question
};

/// A question of a story.
struct BabiQuestion {
  int64_t first_sentence;  ///< of its story, by its place among the texts of the file
  int64_t sentences;       ///< statements above it
  int64_t text;            ///< its own place
  int64_t answer;          ///< id of a word
  size_t hash;             ///< of the words above and its own: equal where two are the same
};

/// The questions of one file, as ids of words.
class BabiQuestions {
 public:
  /// Appends the questions of a story. All its words must be in the vocabulary.
  void add(const BabiStory& story, const BabiVocabulary& vocabulary);

  int64_t size() const { return std::ssize(questions_); }
  const std::vector<BabiQuestion>& all() const { return questions_; }
  const BabiQuestion& question(int64_t number) const { return questions_.at(number); }
  /// The words of a statement or a question.
  std::span<const int32_t> text(int64_t place) const;

  /// All questions, in readings: those of a story are asked on one reading. A question behind more
  /// than `most_sentences` has a reading of the last ones to itself.
  std::vector<BabiReading> readings(int64_t most_sentences) const;

  /// Words of the longest statement or question.
  int64_t longest_sentence() const { return longest_sentence_; }

 private:
  int64_t add_text(const std::string& text, const BabiVocabulary& vocabulary);

  std::vector<int32_t> words_;
  std::vector<std::pair<int64_t, int64_t>> texts_;  ///< begin and end in words_
  std::vector<BabiQuestion> questions_;
  int64_t longest_sentence_ = 0;
};

/// The bAbI tasks of a folder (Weston et al. 2015), in the form of its directories en-valid and
/// en-valid-10k, which `tessera data babi` writes, too.
class BabiData {
 public:
  /// Reads training, validation and test questions of the tasks. The vocabulary is that of all.
  /// Throws UsageError on tasks outside 1 … 20, named twice or none, or no sentences; DataError on
  /// a file that is missing, damaged or without questions.
  explicit BabiData(const BabiConfig& config);

  const BabiConfig& config() const { return config_; }
  const BabiVocabulary& vocabulary() const { return vocabulary_; }
  const BabiQuestions& questions(int64_t task, Split split) const {
    return questions_.at({task, split});
  }
  /// The same questions, in readings of most_sentences.
  const std::vector<BabiReading>& readings(int64_t task, Split split) const {
    return readings_.at({task, split});
  }

  /// Whether a test question does not stand in training, with the same words above it.
  bool is_unseen(int64_t task, int64_t number) const { return unseen_.at(task).at(number); }

  /// Words of the longest statement or question of all: the width of a sentence in a batch.
  int64_t longest_sentence() const;

 private:
  BabiConfig config_;
  BabiVocabulary vocabulary_;
  std::map<std::pair<int64_t, Split>, BabiQuestions> questions_;
  std::map<std::pair<int64_t, Split>, std::vector<BabiReading>> readings_;
  std::map<int64_t, std::vector<bool>> unseen_;  ///< test questions of each task
};

}  // namespace tessera::task
