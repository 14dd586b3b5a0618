#include "lab/learner/babi/babi_data.h"

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_set>

#include "tessera/base/file.h"

namespace tessera::task {

void collect_words(const BabiStory& story, std::set<std::string>& words) {
  for (const BabiLine& line : story) {
    for (std::string& word : babi_words(line.text)) words.insert(std::move(word));
    if (line.is_question()) words.insert(answer_word(line.answer));
  }
}

BabiVocabulary::BabiVocabulary(const std::set<std::string>& words) : words_{""} {
  for (const std::string& word : words) {
    ids_.emplace(word, size());
    words_.push_back(word);
  }
}

namespace {

constexpr std::array kSplits = {Split::kTraining, Split::kValidation, Split::kTest};

void check(const BabiConfig& config) {
  if (config.folder.empty())
    throw UsageError("data.folder is missing; `tessera data babi` writes one");
  if (config.tasks.empty()) throw UsageError("data.tasks is empty, expected some of 1 to 20");
  config::check_demands(config, "data");
  for (const int64_t task : config.tasks)
    if (std::ranges::count(config.tasks, task) > 1)
      throw UsageError("data.tasks names task {} twice", task);
}

using Visitor = std::function<void(int64_t task, Split split, const BabiStory& story)>;

void for_each_story(const BabiConfig& config, const Visitor& visit) {
  for (int64_t task : config.tasks)
    for (Split split : kSplits) {
      const auto path = std::filesystem::path(config.folder) / babi_file_name(task, split);
      if (!is_there(path))
        throw DataError(path.native(),
                        "the file is missing; leave task {} out, or write it with "
                        "`tessera data babi --task {} --out {}`",
                        task, task, config.folder);
      StoryReader reader(path);
      for (BabiStory story; reader.next(story);) visit(task, split, story);
    }
}

BabiVocabulary read_vocabulary(const BabiConfig& config) {
  check(config);
  std::set<std::string> words;
  for_each_story(config,
                 [&](int64_t, Split, const BabiStory& story) { collect_words(story, words); });
  return BabiVocabulary(words);
}

/// A checksum of a text and of all above it in its story, of which `above` is the checksum.
size_t hash_below(size_t above, std::span<const int32_t> text) {
  std::u32string words(text.begin(), text.end());
  words += static_cast<char32_t>(above);
  words += static_cast<char32_t>(above >> 32);
  return std::hash<std::u32string>()(words);
}

}  // namespace

int64_t BabiQuestions::add_text(const std::string& text, const BabiVocabulary& vocabulary) {
  const auto begin = std::ssize(words_);
  for (const std::string& word : babi_words(text))
    words_.push_back(static_cast<int32_t>(vocabulary.id(word)));
  texts_.emplace_back(begin, std::ssize(words_));
  longest_sentence_ = std::max(longest_sentence_, std::ssize(words_) - begin);
  return std::ssize(texts_) - 1;
}

void BabiQuestions::add(const BabiStory& story, const BabiVocabulary& vocabulary) {
  const auto first_sentence = std::ssize(texts_);
  for (const BabiLine& line : story)
    if (!line.is_question()) add_text(line.text, vocabulary);

  int64_t sentences = 0;
  size_t above = 0;
  for (const BabiLine& line : story)
    if (line.is_question()) {
      const int64_t place = add_text(line.text, vocabulary);
      questions_.push_back({first_sentence, sentences, place,
                            vocabulary.id(answer_word(line.answer)),
                            hash_below(above, text(place))});
    } else {
      above = hash_below(above, text(first_sentence + sentences));
      ++sentences;
    }
}

std::span<const int32_t> BabiQuestions::text(int64_t place) const {
  const auto [begin, end] = texts_.at(place);
  return std::span(words_).subspan(begin, end - begin);
}

std::vector<BabiReading> BabiQuestions::readings(int64_t most_sentences) const {
  std::vector<BabiReading> readings;
  int64_t number = 0, story = -1;
  for (const BabiQuestion& question : questions_) {
    const int64_t first = std::max<int64_t>(question.sentences - most_sentences, 0);
    if (question.first_sentence == story && first == 0) {  // nor were those before it cut
      ++readings.back().questions;
      readings.back().sentences = question.sentences;
    } else {
      readings.push_back({number, 1, first, question.sentences - first});
    }
    story = question.first_sentence;
    ++number;
  }
  return readings;
}

BabiData::BabiData(const BabiConfig& config)
    : config_(config), vocabulary_(read_vocabulary(config)) {
  for_each_story(config, [&](int64_t task, Split split, const BabiStory& story) {
    questions_[{task, split}].add(story, vocabulary_);
  });
  for (const auto& [key, questions] : questions_) {
    if (questions.size() == 0)
      throw DataError(
          (std::filesystem::path(config.folder) / babi_file_name(key.first, key.second)).native(),
          "there is no question in it");
    readings_[key] = questions.readings(config.most_sentences);
  }
  for (const int64_t task : config.tasks) {
    std::unordered_set<size_t> seen;
    for (const BabiQuestion& question : questions(task, Split::kTraining).all())
      seen.insert(question.hash);
    for (const BabiQuestion& question : questions(task, Split::kTest).all())
      unseen_[task].push_back(!seen.contains(question.hash));
  }
}

int64_t BabiData::longest_sentence() const {
  int64_t longest = 0;
  for (const auto& [key, questions] : questions_)
    longest = std::max(longest, questions.longest_sentence());
  return longest;
}

}  // namespace tessera::task
