#include "lab/task/associative_retrieval/associative_retrieval.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/task/sequence/draws.h"

namespace tessera::task {
namespace {

constexpr int64_t kDigits = 10;

/// Probability of a count in Poisson's law.
double poisson(int64_t count, double mean) {
  const double k = count;
  return std::exp(k * std::log(mean) - mean - std::lgamma(k + 1));
}

/// Probability that no digit comes up more than `most` times in `draws`: counts of the digits are
/// Poisson counts whose sum is known.
double no_digit_above(int64_t most, int64_t draws) {
  const double mean = static_cast<double>(draws) / kDigits;
  std::vector<double> of_count;
  for (int64_t count = 0; count <= most; ++count) of_count.push_back(poisson(count, mean));
  std::vector<double> of_sum(draws + 1, 0.0);  // of the digits so far
  of_sum[0] = 1;
  for (int64_t digit = 0; digit < kDigits; ++digit)
    for (int64_t sum = draws; sum >= 0; --sum) {
      double chance = 0;
      for (int64_t count = 0; count <= std::min(most, sum); ++count)
        chance += of_sum[sum - count] * of_count[count];
      of_sum[sum] = chance;
    }
  return of_sum.back() / poisson(draws, static_cast<double>(draws));
}

}  // namespace

double most_frequent_digit_share(int64_t draws) {
  check_argument(draws > 0, "most_frequent_digit_share: no draws");
  double expected = 0;  // of the largest count: the sum of the chances that it exceeds 0, 1, …
  for (int64_t most = 0; most < draws; ++most) {
    const double exceeds = 1 - no_digit_above(most, draws);
    expected += exceeds;
    if (exceeds < 1e-12) break;  // and the others still less
  }
  return expected / static_cast<double>(draws);
}

AssociativeRetrieval::AssociativeRetrieval(const AssociativeRetrievalConfig& config)
    : ConfiguredTask(config) {
  check_range(config.pairs, 1, config.keys, "task.pairs");
  check_range(config.min_pairs, 0, config.pairs, "task.min_pairs");
}

TaskShape AssociativeRetrieval::shape() const {
  return {.vocabulary = kDigits + config_.keys + 1,
          .output_width = kDigits,
          .targets = TargetKind::kClasses};
}

TaskSample AssociativeRetrieval::draw_sample(uint64_t seed, int64_t index, int64_t size_of) const {
  RandomStream random = content_stream(seed, index);
  const int64_t pairs = draw_size(seed, size_of, fewest_pairs(), config_.pairs);
  TaskSample sample;
  for (int64_t key : draw_distinct(random, config_.keys, pairs)) {
    sample.tokens.push_back(kDigits + key);
    sample.tokens.push_back(draw_between(random, 0, kDigits - 1));
  }
  const int64_t asked = draw_between(random, 0, pairs - 1);
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
  const TaskSample sample = this->sample(seed, index);
  std::vector<std::string> words;
  for (int64_t token : sample.tokens) words.push_back(token_text(token));
  return {{"index", index}, {"tokens", words}, {"answer", sample.classes.front()}};
}

std::vector<Level> AssociativeRetrieval::levels() const {
  const double sizes = config_.pairs - fewest_pairs() + 1;
  double most_frequent = 0;
  for (int64_t pairs = fewest_pairs(); pairs <= config_.pairs; ++pairs)
    most_frequent += most_frequent_digit_share(pairs) / sizes;
  return {{"guess a digit", "accuracy", 1.0 / kDigits},
          {"the digit seen most often", "accuracy", most_frequent}};
}

}  // namespace tessera::task
