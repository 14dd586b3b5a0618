#include "lab/task/associative_retrieval/associative_retrieval.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/task/sequence/draws.h"

namespace tessera::task {
namespace {

constexpr int64_t kDigits = 10;

/// Probability that `count` of n draws hit something that each hits with probability p.
double binomial(int64_t n, int64_t count, double p) {
  const auto all = static_cast<double>(n), hits = static_cast<double>(count);
  const double ways = std::lgamma(all + 1) - std::lgamma(hits + 1) - std::lgamma(all - hits + 1);
  return std::exp(ways) * std::pow(p, hits) * std::pow(1 - p, all - hits);
}

/// Probability that no digit comes up more than `most` times in `draws`.
double no_digit_above(int64_t most, int64_t draws) {
  // chance[n]: that the digits so far took n of the draws, none more than `most`.
  std::vector<double> chance(static_cast<size_t>(draws) + 1, 0.0);
  chance[0] = 1;
  for (int64_t digit = 0; digit < kDigits; ++digit) {
    // This digit takes each of the draws left with probability 1 / (digits left).
    const double p = 1.0 / static_cast<double>(kDigits - digit);
    std::vector<double> next(chance.size(), 0.0);
    for (int64_t taken = 0; taken <= draws; ++taken)
      for (int64_t count = 0; count <= std::min(most, draws - taken); ++count)
        next[static_cast<size_t>(taken + count)] +=
            chance[static_cast<size_t>(taken)] * binomial(draws - taken, count, p);
    chance = std::move(next);
  }
  return chance.back();
}

}  // namespace

double most_frequent_digit_share(int64_t draws) {
  check_argument(draws > 0, "most_frequent_digit_share: no draws");
  double expected = 0;  // of the largest count: the sum of the chances that it exceeds 0, 1, …
  for (int64_t most = 0; most < draws; ++most) expected += 1 - no_digit_above(most, draws);
  return expected / static_cast<double>(draws);
}

AssociativeRetrieval::AssociativeRetrieval(const AssociativeRetrievalConfig& config)
    : config_(config) {
  check_range(config.keys, 1, 1000, "associative-retrieval: keys");
  check_range(config.pairs, 1, config.keys, "associative-retrieval: pairs");
  check_range(config.min_pairs, 0, config.pairs, "associative-retrieval: min_pairs");
}

TaskShape AssociativeRetrieval::shape() const {
  return {.vocabulary = kDigits + config_.keys + 1,
          .output_width = kDigits,
          .targets = TargetKind::kClasses};
}

TaskSample AssociativeRetrieval::sample(uint64_t seed, int64_t index, int64_t size_of) const {
  RandomStream random = content_stream(seed, index);
  const int64_t pairs = draw_size(seed, size_of, fewest_pairs(), config_.pairs);
  TaskSample sample;
  for (int64_t key : draw_distinct(random, config_.keys, pairs)) {
    sample.tokens.push_back(kDigits + key);
    sample.tokens.push_back(draw_between(random, 0, kDigits - 1));
  }
  const auto asked = static_cast<size_t>(draw_between(random, 0, pairs - 1));
  const int64_t question_mark = kDigits + config_.keys;
  sample.tokens.insert(sample.tokens.end(),
                       {question_mark, question_mark, sample.tokens[2 * asked]});
  sample.steps = std::ssize(sample.tokens);
  sample.first_answer = sample.steps - 1;
  sample.answers = 1;
  sample.classes = {sample.tokens[2 * asked + 1]};
  return sample;
}

std::string AssociativeRetrieval::token_text(int64_t token) const {
  if (token < kDigits) return std::to_string(token);
  const int64_t key = token - kDigits;
  if (key == config_.keys) return "?";
  return key < 26 ? std::string(1, static_cast<char>('a' + key)) : fmt::format("key{}", key);
}

config::Json AssociativeRetrieval::describe(uint64_t seed, int64_t index) const {
  const TaskSample sample = this->sample(seed, index, index);
  std::vector<std::string> words;
  for (int64_t token : sample.tokens) words.push_back(token_text(token));
  return {{"index", index}, {"tokens", words}, {"answer", sample.classes.front()}};
}

std::vector<Level> AssociativeRetrieval::levels() const {
  const auto sizes = static_cast<double>(config_.pairs - fewest_pairs() + 1);
  double most_frequent = 0;
  for (int64_t pairs = fewest_pairs(); pairs <= config_.pairs; ++pairs)
    most_frequent += most_frequent_digit_share(pairs) / sizes;
  return {{"guess a digit", "accuracy", 1.0 / kDigits},
          {"the digit seen most often", "accuracy", most_frequent}};
}

}  // namespace tessera::task
