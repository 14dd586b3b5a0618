#include "lab/task/needle/needle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

#include "lab/task/sequence/draws.h"
#include "lab/task/stories/story.h"

namespace tessera::task {
namespace {

constexpr int64_t kDigitsOfANumber = 2, kNumbers = 100;
constexpr std::array<std::string_view, 10> kFirstSyllables = {"Ba", "De", "Fi", "Go", "Hu",
                                                              "Ka", "Le", "Mi", "No", "Ru"};
constexpr std::array<std::string_view, 10> kLastSyllables = {"bel", "dan", "fo",  "gar", "lin",
                                                             "mos", "ra",  "ser", "tuk", "vi"};
static_assert(std::size(kFirstSyllables) * std::size(kLastSyllables) == NeedleConfig::kNames);

using Words = std::vector<std::string>;

/// Runs of letters and apostrophes; every other character but white space by itself.
Words words_of(std::string_view text) {
  Words words;
  bool goes_on = false;
  for (const char c : text) {
    const bool letter = std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '\'';
    if (!std::isspace(static_cast<unsigned char>(c))) {
      if (!letter || !goes_on) words.emplace_back();
      words.back() += c;
    }
    goes_on = letter;
  }
  return words;
}

/// The words of a needle around its name.
struct Frame {
  Words begin, end;
};
const Frame kTold = {{"The", "secret", "number", "of"}, {"is"}};
const Frame kOneOfSeveral = {{"A", "secret", "number", "of"}, {"is"}};
const Frame kAll = {{"The", "secret", "numbers", "of"}, {"are"}};
constexpr int64_t kSentence = 4 + 1 + 1 + kDigitsOfANumber + 1;  // with its full stop
constexpr int64_t kQuestion = 4 + 1 + 1;

/// Tokens: "…", the digits, the names, then words.
class Vocabulary {
 public:
  static const Vocabulary& shared() {
    static const Vocabulary vocabulary;
    return vocabulary;
  }

  int64_t size() const { return std::ssize(words_); }
  const std::string& text(int64_t token) const { return words_.at(token); }
  int64_t token(const std::string& word) const {
    const auto found = tokens_.find(word);
    return found == tokens_.end() ? 0 : found->second;
  }
  static int64_t digit(int64_t value) { return 1 + value; }
  static int64_t name(int64_t index) { return 11 + index; }

 private:
  Vocabulary() {
    add("…");
    for (int digit = 0; digit < 10; ++digit) add(std::to_string(digit));
    for (const auto first : kFirstSyllables)
      for (const auto last : kLastSyllables) add(fmt::format("{}{}", first, last));
    for (const Frame& frame : {kTold, kOneOfSeveral, kAll}) {
      for (const auto& word : frame.begin) add(word);
      for (const auto& word : frame.end) add(word);
    }
    add(".");
    add_frequent_words();
  }

  void add(const std::string& word) {
    if (tokens_.emplace(word, size()).second) words_.push_back(word);
  }

  /// Those of some stories that are not trained on, the most frequent first.
  void add_frequent_words() {
    constexpr int64_t kStories = 300;
    constexpr size_t kWords = 1000;
    constexpr uint64_t kSeed = 0x6e6565646c65;
    std::map<std::string, int64_t> counts;
    for (int64_t index = 0; index < kStories; ++index)
      for (auto& word : words_of(stories::write_story(kSeed, index).text)) ++counts[word];
    std::vector<std::pair<int64_t, std::string>> frequent;
    for (const auto& [word, count] : counts) frequent.emplace_back(-count, word);
    std::sort(frequent.begin(), frequent.end());
    frequent.resize(std::min(frequent.size(), kWords));
    for (const auto& [count, word] : frequent) add(word);
  }

  Words words_;
  std::map<std::string, int64_t> tokens_;
};

/// Where the sentence ends that this place of a story stands in; in the last one, where it begins.
int64_t between_sentences(const std::vector<int64_t>& story, int64_t place) {
  const int64_t full_stop = Vocabulary::shared().token(".");
  if (place == 0) return place;
  const auto end = std::find(story.begin() + place - 1, story.end(), full_stop);
  if (end != story.end()) return end + 1 - story.begin();
  const auto last = std::find(story.rbegin(), story.rend(), full_stop);
  return story.rend() - last;
}

/// Stories one after the other, from somewhere in the first on.
std::vector<int64_t> draw_story(RandomStream& random, int64_t length) {
  const Vocabulary& vocabulary = Vocabulary::shared();
  const uint64_t seed = random();
  std::vector<int64_t> tokens;
  int64_t begin = 0;
  for (int64_t index = 0; std::ssize(tokens) < begin + length; ++index) {
    for (const auto& word : words_of(stories::write_story(seed, index).text))
      tokens.push_back(vocabulary.token(word));
    if (index == 0) begin = draw_between(random, 0, std::ssize(tokens) - 1);
  }
  return {tokens.begin() + begin, tokens.begin() + begin + length};
}

void append(std::vector<int64_t>& tokens, const Frame& frame, int64_t name) {
  const Vocabulary& vocabulary = Vocabulary::shared();
  for (const auto& word : frame.begin) tokens.push_back(vocabulary.token(word));
  tokens.push_back(Vocabulary::name(name));
  for (const auto& word : frame.end) tokens.push_back(vocabulary.token(word));
}

std::array<int64_t, kDigitsOfANumber> digits_of(int64_t number) {
  return {Vocabulary::digit(number / 10), Vocabulary::digit(number % 10)};
}

}  // namespace

Needle::Needle(const NeedleConfig& config) : ConfiguredTask(config) {
  if (config.depth >= 0 && config.kind != NeedleKind::kOne && config.kind != NeedleKind::kSeveral)
    throw UsageError(
        "task.depth says where one number stands; task.kind is '{}', expected 'one' or "
        "'several'",
        config::enum_name(config.kind));
  const int64_t least = config.length - story_length(config.kind);
  check_argument(config.length >= least, "task.length is {}, expected at least {}", config.length,
                 least);
}

int64_t Needle::sentences_of(NeedleKind kind) const {
  switch (kind) {
    case NeedleKind::kOne:
      return 1;
    case NeedleKind::kReplaced:
      return 2;
    default:
      return config_.needles;
  }
}

int64_t Needle::answers_of(NeedleKind kind) const {
  const bool all = kind == NeedleKind::kOneName || kind == NeedleKind::kMixed;
  return kDigitsOfANumber * (all ? config_.needles : 1);
}

int64_t Needle::story_length(NeedleKind kind) const {
  return config_.length - kSentence * sentences_of(kind) - kQuestion - (answers_of(kind) - 1);
}

TaskShape Needle::shape() const {
  const int64_t vocabulary = Vocabulary::shared().size();
  return {.vocabulary = vocabulary, .output_width = vocabulary, .targets = TargetKind::kClasses};
}

Needle::Hidden Needle::draw_hidden(RandomStream& random, NeedleKind kind) const {
  const int64_t count = sentences_of(kind), story = story_length(kind);
  const auto names =
      draw_distinct(random, NeedleConfig::kNames, kind == NeedleKind::kSeveral ? count : 1);
  const auto numbers = draw_distinct(random, kNumbers, count);
  Hidden hidden{.sentences = {}, .all = kind == NeedleKind::kOneName};
  for (int64_t i = 0; i < count; ++i)
    hidden.sentences.push_back(
        {names[i % names.size()], numbers[i], draw_between(random, 0, story)});
  if (config_.depth >= 0) hidden.sentences.back().place = config_.depth * story / 100;
  const auto asked = hidden.sentences.back();
  std::ranges::stable_sort(hidden.sentences, {}, &Hidden::Sentence::place);
  // Of two numbers of a name the later one is asked, wherever the last that was drawn stands.
  hidden.asked = kind == NeedleKind::kReplaced ? count - 1
                                               : std::ranges::find(hidden.sentences, asked.number,
                                                                   &Hidden::Sentence::number) -
                                                     hidden.sentences.begin();
  return hidden;
}

TaskSample Needle::draw_sample(uint64_t seed, int64_t index, int64_t) const {
  RandomStream random = content_stream(seed, index);
  NeedleKind kind = config_.kind;
  if (kind == NeedleKind::kMixed) kind = static_cast<NeedleKind>(draw_between(random, 0, 3));
  const Hidden hidden = draw_hidden(random, kind);
  const auto story = draw_story(random, story_length(kind));
  TaskSample sample;
  int64_t told = 0;  // of the story
  for (const auto& [name, number, drawn] : hidden.sentences) {
    const int64_t place = between_sentences(story, drawn);
    sample.tokens.insert(sample.tokens.end(), story.begin() + told, story.begin() + place);
    told = place;
    append(sample.tokens, hidden.all ? kOneOfSeveral : kTold, name);
    for (const int64_t digit : digits_of(number)) sample.tokens.push_back(digit);
    sample.tokens.push_back(Vocabulary::shared().token("."));
  }
  sample.tokens.insert(sample.tokens.end(), story.begin() + told, story.end());
  append(sample.tokens, hidden.all ? kAll : kTold, hidden.sentences[hidden.asked].name);
  sample.first_answer = std::ssize(sample.tokens) - 1;
  for (int64_t i = 0; i < std::ssize(hidden.sentences); ++i)
    if (hidden.all || i == hidden.asked)
      for (const int64_t digit : digits_of(hidden.sentences[i].number))
        sample.classes.push_back(digit);
  sample.tokens.insert(sample.tokens.end(), sample.classes.begin(), sample.classes.end() - 1);
  sample.steps = std::ssize(sample.tokens);
  sample.answers = std::ssize(sample.classes);
  return sample;
}

config::Json Needle::describe(uint64_t seed, int64_t index) const {
  const Vocabulary& vocabulary = Vocabulary::shared();
  const TaskSample sample = this->sample(seed, index);
  Words text, answer;
  for (int64_t step = 0; step <= sample.first_answer; ++step)
    text.push_back(vocabulary.text(sample.tokens[step]));
  for (const int64_t digit : sample.classes) answer.push_back(vocabulary.text(digit));
  return {{"index", index},
          {"text", fmt::format("{}", fmt::join(text, " "))},
          {"answer", fmt::format("{}", fmt::join(answer, " "))}};
}

std::vector<Level> Needle::levels() const {
  constexpr double kDigits = 10;
  std::vector<Level> levels = {{"any digit", "accuracy", 1 / kDigits}};
  const double numbers = static_cast<double>(sentences_of(config_.kind));
  if (config_.kind == NeedleKind::kSeveral || config_.kind == NeedleKind::kReplaced) {
    // Two different numbers share a digit in 9 of 99 cases.
    const double other = 1.0 / 11;
    levels.push_back({"any number of the text", "accuracy", (1 + (numbers - 1) * other) / numbers});
  }
  return levels;
}

}  // namespace tessera::task
