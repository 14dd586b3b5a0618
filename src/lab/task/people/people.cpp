#include "lab/task/people/people.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string>

#include "lab/task/sequence/draws.h"

namespace tessera::task {
namespace {

/// Values of kPersonFacts that a sentence tells, and the words before them.
struct Sentence {
  size_t first, count;
  std::array<std::array<std::string_view, 3>, 2> forms;
};
constexpr std::array<Sentence, 5> kSentences = {
    {{3, 3, {{{"was", "born", "on"}, {"'s", "birthday", "is"}}}},
     {6, 1, {{{"was", "born", "in"}, {"comes", "to", "us-from"}}}},
     {7, 1, {{{"studied", "at", "the-university-of"}, {"has", "a-degree", "from"}}}},
     {8, 1, {{{"studied", "the", "subject-of"}, {"majored", "in", "the-field-of"}}}},
     {9, 1, {{{"works", "for", "the-firm"}, {"is", "employed", "by"}}}}}};

/// Tokens: the beginning of a text, a full stop, the values of each fact, the words of sentences.
constexpr int64_t kBegin = 0, kFullStop = 1;

constexpr int64_t first_value(size_t fact) {
  int64_t token = kFullStop + 1;
  for (size_t before = 0; before < fact; ++before) token += kPersonFacts[before].values;
  return token;
}

const std::vector<std::string_view>& sentence_words() {
  static const std::vector<std::string_view> words = [] {
    std::set<std::string_view> all;
    for (const Sentence& sentence : kSentences)
      for (const auto& form : sentence.forms) all.insert(form.begin(), form.end());
    return std::vector(all.begin(), all.end());
  }();
  return words;
}

int64_t token_of(std::string_view word) {
  return first_value(kPersonFacts.size()) +
         (std::ranges::lower_bound(sentence_words(), word) - sentence_words().begin());
}

/// "first-name-31", "born".
std::string text_of(int64_t token) {
  if (token == kBegin) return "";
  if (token == kFullStop) return ".";
  const int64_t word = token - first_value(kPersonFacts.size());
  if (word >= 0) return std::string(sentence_words()[word]);
  const size_t fact = People::fact_of(token);
  std::string text(kPersonFacts[fact].name);
  std::ranges::replace(text, ' ', '-');
  return fmt::format("{}-{}", text, token - first_value(fact));
}

}  // namespace

size_t People::fact_of(int64_t token) {
  size_t fact = 0;
  while (token >= first_value(fact + 1)) ++fact;
  return fact;
}

const std::vector<People::Person>& People::people() const {
  std::call_once(drawn_, [&] {
    std::set<std::array<int16_t, kPersonNames>> names;
    RandomStream random(config_.drawn, 0);
    while (std::ssize(people_) < config_.people) {
      Person person;
      for (size_t fact = 0; fact < person.size(); ++fact)
        person[fact] = static_cast<int16_t>(draw_between(random, 0, kPersonFacts[fact].values - 1));
      if (names.insert({person[0], person[1], person[2]}).second) people_.push_back(person);
    }
  });
  return people_;
}

TaskShape People::shape() const {
  const int64_t vocabulary = first_value(kPersonFacts.size()) + std::ssize(sentence_words());
  return {.vocabulary = vocabulary, .output_width = vocabulary, .targets = TargetKind::kClasses};
}

/// Of each N samples in a row every one is of another person: a walk around them by a step that has
/// no divisor in common with N.
int64_t People::person_at(uint64_t seed, int64_t index) const {
  const int64_t N = config_.people, round = index / N;
  RandomStream random(seed, round);
  const int64_t begin = draw_between(random, 0, N - 1);
  int64_t step = draw_between(random, 1, N);
  while (std::gcd(step, N) != 1) ++step;
  return (begin + index % N * step) % N;
}

TaskSample People::draw_sample(uint64_t seed, int64_t index, int64_t) const {
  const Person& person = people()[person_at(seed, index)];
  RandomStream random = content_stream(seed, index);
  TaskSample sample;
  sample.tokens = {kBegin};
  const auto say = [&](int64_t token, bool asked) {
    sample.tokens.push_back(token);
    sample.classes.push_back(asked ? token : kNotAsked);
  };
  for (size_t name = 0; name < kPersonNames; ++name) say(first_value(name) + person[name], true);
  for (const int64_t which : draw_permutation(random, std::ssize(kSentences))) {
    const Sentence& sentence = kSentences[which];
    for (const auto word : sentence.forms[draw_between(random, 0, 1)]) say(token_of(word), false);
    for (size_t fact = sentence.first; fact < sentence.first + sentence.count; ++fact)
      say(first_value(fact) + person[fact], true);
    say(kFullStop, false);
  }
  sample.classes.pop_back();  // the last full stop is not predicted,
  sample.tokens.pop_back();   // nor read,
  sample.tokens.pop_back();   // nor is the value before it
  sample.steps = sample.answers = std::ssize(sample.classes);
  return sample;
}

config::Json People::describe(uint64_t seed, int64_t index) const {
  const TaskSample sample = this->sample(seed, index);
  std::vector<std::string> words;
  for (size_t step = 1; step < sample.tokens.size(); ++step)
    words.push_back(text_of(sample.tokens[step]));
  words.push_back(text_of(sample.classes.back()));
  return {{"index", index}, {"text", fmt::format("{} .", fmt::join(words, " "))}};
}

std::vector<Level> People::levels() const {
  double chance = 0;
  for (const auto& fact : kPersonFacts) chance += 1 / static_cast<double>(fact.values);
  return {{"any value of the right kind", "accuracy", chance / kPersonFacts.size()}};
}

}  // namespace tessera::task
