#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "lab/task/babi/story.h"

namespace tessera::task {

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
  /// line_ without its number, which goes into `number`.
  std::string parse_number(int64_t& number) const;
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
