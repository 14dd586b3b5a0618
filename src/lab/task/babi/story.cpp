#include "lab/task/babi/story.h"

#include <fmt/ranges.h>

#include <array>

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

}  // namespace tessera::task
