#include "lab/task/stories/naming_rules.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

namespace tessera::task::stories {
namespace {

/// How often each word comes, in lower case.
std::map<std::string, int64_t> counted_words(const std::string& text) {
  std::map<std::string, int64_t> counts;
  std::string word;
  for (const char c : text + " ") {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalpha(letter) != 0)
      word += static_cast<char>(std::tolower(letter));
    else if (!word.empty())
      ++counts[std::exchange(word, {})];
  }
  return counts;
}

/// How often the prompt names each continuation, the right one first.
std::vector<int64_t> times_named(const Question& question) {
  std::vector<std::map<std::string, int64_t>> continuations = {counted_words(question.right)};
  for (const std::string& wrong : question.wrong) continuations.push_back(counted_words(wrong));
  std::map<std::string, int64_t> holders;  // how many continuations have a word
  for (const auto& words : continuations)
    for (const auto& [word, count] : words) ++holders[word];
  auto prompt = counted_words(question.prompt);
  std::vector<int64_t> times;
  for (const auto& words : continuations) {
    times.push_back(0);
    for (const auto& [word, count] : words)
      if (holders.at(word) == 1) times.back() += prompt[word];
  }
  return times;
}

}  // namespace

NamingRules right_by_naming(const Question& question) {
  const std::vector<int64_t> times = times_named(question);
  const auto right_with = [&](int64_t chosen) {
    return times.front() == chosen ? 1 / static_cast<double>(std::ranges::count(times, chosen)) : 0;
  };
  const int64_t most = std::ranges::max(times);
  int64_t least = most;
  for (const int64_t named : times)
    if (named > 0) least = std::min(least, named);
  return {right_with(most), right_with(least)};
}

}  // namespace tessera::task::stories
