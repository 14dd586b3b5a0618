#include "lab/task/babi/story.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/number.h"
#include "tessera/base/utf8.h"

namespace tessera::task {
namespace {

enum class Kind { kSpace, kWord, kPunctuation };

Kind kind_of(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte <= ' ') return Kind::kSpace;
  const bool letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
  const bool digit = byte >= '0' && byte <= '9';
  return letter || digit || byte == '_' || byte >= 0x80 ? Kind::kWord : Kind::kPunctuation;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

constexpr size_t kLongestLine = 4096;
constexpr size_t kLongestStory = 10000;

std::unique_ptr<std::istream> open(const std::filesystem::path& path) {
  auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*file) throw SystemError(path.native(), "open", errno);
  return file;
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// A whole number from 1 on that is all of `text`; 0 where it is none.
int64_t whole_number(std::string_view text) {
  return std::max<int64_t>(number_from<int64_t>(text).value_or(0), 0);
}

}  // namespace

std::string babi_file_name(int64_t task, Split split) {
  constexpr std::array kNames = {"train", "valid", "test"};
  return fmt::format("qa{}_{}.txt", task, kNames.at(static_cast<size_t>(split)));
}

std::vector<std::string> babi_words(const std::string& text) {
  std::vector<std::string> words;
  Kind before = Kind::kSpace;
  for (char c : text) {
    const Kind kind = kind_of(c);
    if (kind != Kind::kSpace) {
      if (kind != before) words.emplace_back();
      words.back() += lower(c);
    }
    before = kind;
  }
  return words;
}

std::string story_text(const BabiStory& story) {
  std::string text;
  for (size_t i = 0; i < story.size(); ++i) {
    text += fmt::format("{} {}", i + 1, story[i].text);
    if (story[i].is_question())
      text += fmt::format("\t{}\t{}", story[i].answer, fmt::join(story[i].support, " "));
    text += '\n';
  }
  return text;
}

std::string answer_word(const std::string& answer) {
  std::string word = answer;
  for (char& c : word) c = lower(c);
  return word;
}

StoryReader::StoryReader(const std::filesystem::path& path)
    : StoryReader(open(path), path.native()) {}

StoryReader::StoryReader(std::unique_ptr<std::istream> input, std::string name)
    : input_(std::move(input)), name_(std::move(name)) {}

std::string StoryReader::place() const {
  return fmt::format("{}:{}", name_, line_number_);
}

bool StoryReader::read_line() {
  std::array<char, kLongestLine + 1> buffer;
  input_->getline(buffer.data(), buffer.size());
  const size_t got = input_->gcount();
  if (got == 0 && input_->eof()) return false;
  ++line_number_;
  if (input_->bad()) throw SystemError(name_, "read", errno);
  if (input_->fail() && !input_->eof())
    throw DataError(place(), "the line is longer than {} bytes", kLongestLine);
  line_.assign(buffer.data(), input_->eof() ? got : got - 1);  // less the end of the line
  if (!line_.empty() && line_.back() == '\r') line_.pop_back();
  for (size_t i = 0; i < line_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(line_[i]);
    if ((byte < 0x20 && byte != '\t') || byte == 0x7F)
      throw DataError(place(), "byte {} is a control character (0x{:02X}): this is not a text file",
                      i, byte);
  }
  if (const size_t valid = utf8::valid_prefix(line_); valid != line_.size())
    throw DataError(place(), "byte {} is not valid UTF-8; convert the file, for example with iconv",
                    valid);
  return true;
}

std::pair<int64_t, std::string> StoryReader::numbered_line() const {
  const size_t space = line_.find(' ');
  const int64_t number = whole_number(std::string_view(line_).substr(0, space));
  if (number == 0 || space == std::string::npos)
    throw DataError(place(),
                    "the line does not begin with its number, expected a line such as "
                    "'1 Mary went to the office.'");
  return {number, line_.substr(space + 1)};
}

BabiLine StoryReader::parse_line(const std::string& rest, const BabiStory& story) const {
  const size_t tab = rest.find('\t');
  BabiLine line{.text = trimmed(rest.substr(0, tab)), .answer = {}, .support = {}};
  if (line.text.empty()) throw DataError(place(), "there is no text behind the line's number");
  if (tab == std::string::npos) return line;

  const size_t second = rest.find('\t', tab + 1);
  line.answer = trimmed(rest.substr(tab + 1, second - tab - 1));
  if (line.answer.empty()) throw DataError(place(), "the question has no answer between its tabs");
  if (second == std::string::npos) return line;
  if (rest.find('\t', second + 1) != std::string::npos)
    throw DataError(place(),
                    "there are more than two tabs, expected question, answer and "
                    "supporting lines");
  line.support = parse_support(rest.substr(second + 1), story);
  return line;
}

std::vector<int64_t> StoryReader::parse_support(const std::string& text,
                                                const BabiStory& story) const {
  std::vector<int64_t> support;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const int64_t number = whole_number(word);
    if (number == 0 || number > std::ssize(story) || story[number - 1].is_question())
      throw DataError(place(), "the supporting line '{}' is not the number of a statement above",
                      word);
    support.push_back(number);
  }
  return support;
}

bool StoryReader::next(BabiStory& story) {
  story.clear();
  while (std::exchange(line_waits_, false) || read_line()) {
    const auto [number, rest] = numbered_line();
    const int64_t expected = std::ssize(story) + 1;
    if (number == 1 && !story.empty()) {
      line_waits_ = true;
      return true;
    }
    if (number != expected)
      throw DataError(place(), "the line has the number {}, expected {}{}", number, expected,
                      expected == 1 ? "" : ", or 1 for a new story");
    if (story.size() == kLongestStory)
      throw DataError(place(), "the story is longer than {} lines", kLongestStory);
    story.push_back(parse_line(rest, story));
  }
  if (line_number_ == 0) throw DataError(name_, "is empty, expected bAbI stories");
  return !story.empty();
}

}  // namespace tessera::task
