#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <memory>
#include <string>
#include <utility>
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

/// Reads a bAbI file story by story, in constant memory. Strict: every fault is a DataError that
/// begins with "file:line:" and says what was expected.
class StoryReader {
 public:
  /// Throws SystemError where the file cannot be opened.
  explicit StoryReader(const std::filesystem::path& path);
  /// name: of the source, for messages.
  StoryReader(std::unique_ptr<std::istream> input, std::string name);

  /// The next story into `story`; false at the end of the file.
  /// Throws DataError on a line that is no line of a story: without number or text, of a number
  /// that neither continues the story nor is 1, with an empty answer, too many tabs, or support by
  /// anything but statements above; that is not UTF-8 text; that is longer than 4096 bytes; on a
  /// story of more than 10000 lines; and on an empty file.
  bool next(BabiStory& story);

 private:
  /// Reads the next line into line_; false at the end of the file.
  bool read_line();
  /// The number of line_ and what follows it.
  std::pair<int64_t, std::string> numbered_line() const;
  BabiLine parse_line(const std::string& rest, const BabiStory& story) const;
  std::vector<int64_t> parse_support(const std::string& text, const BabiStory& story) const;
  /// "file:line".
  std::string place() const;

  std::unique_ptr<std::istream> input_;
  std::string name_;
  std::string line_;
  int64_t line_number_ = 0;
  bool line_waits_ = false;  ///< line_ begins the next story
};

}  // namespace tessera::task
