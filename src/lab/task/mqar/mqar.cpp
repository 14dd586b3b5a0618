#include "lab/task/mqar/mqar.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "lab/task/sequence/draws.h"
#include "tessera/base/error.h"

namespace tessera::task {
namespace {

int64_t whole_root(int64_t square) {
  return std::llround(std::sqrt(static_cast<double>(square)));
}

/// `count` of n places in the order of a draw without replacement in which place j = 1 … n has the
/// probability j^(a-1) over the sum of those left: that of a race of exponential times.
std::vector<int64_t> draw_places(RandomStream& random, int64_t n, int64_t count) {
  constexpr double kPower = 0.01;  // a
  std::vector<std::pair<double, int64_t>> arrivals;
  for (int64_t place = 0; place < n; ++place)
    arrivals.emplace_back(
        -std::log1p(-random.uniform()) * std::pow(static_cast<double>(place + 1), 1 - kPower),
        place);
  std::partial_sort(arrivals.begin(), arrivals.begin() + count, arrivals.end());
  std::vector<int64_t> places;
  for (int64_t i = 0; i < count; ++i) places.push_back(arrivals[i].second);
  return places;
}

/// `count` different tokens of first … end - 1.
std::vector<int64_t> draw_tokens(RandomStream& random, int64_t first, int64_t end, int64_t count) {
  std::vector<int64_t> tokens = draw_distinct(random, end - first, count);
  for (int64_t& token : tokens) token += first;
  return tokens;
}

}  // namespace

Mqar::Mqar(const MqarConfig& config) : ConfiguredTask(config) {
  const int64_t V = config.vocabulary, values = V - first_value();
  int64_t pairs = std::min(V / 2 - 1, values);
  if (config.compound) pairs = std::min((V / 3 - 1) * (V / 3 - 1), values);
  check_range(config.pairs, 1, pairs, "task.pairs (of this vocabulary)");
  check_range(config.overwritten, 0, std::min(config.pairs, values - config.pairs),
              "task.overwritten");
  if (places() < config.pairs)
    throw UsageError("task.length is {}, expected at least {} for {} pairs and {} overwritten keys",
                     config.length, (key_width() + 1) * (2 * config.pairs + config.overwritten),
                     config.pairs, config.overwritten);
  if (!config.compound) return;
  if (const int64_t root = whole_root(config.pairs); root * root != config.pairs)
    throw UsageError("task.pairs is {}, expected a square number where keys are compound",
                     config.pairs);
  if (config.overwritten > 0)
    throw UsageError("task.overwritten is {}, expected 0 where keys are compound",
                     config.overwritten);
}

TaskShape Mqar::shape() const {
  return {.vocabulary = config_.vocabulary,
          .output_width = config_.vocabulary,
          .targets = TargetKind::kClasses};
}

Mqar::Pairs Mqar::draw_pairs(RandomStream& random) const {
  const int64_t V = config_.vocabulary, P = config_.pairs;
  Pairs pairs;
  if (config_.compound) {
    const int64_t root = whole_root(P);
    const auto firsts = draw_tokens(random, 1, V / 3, root);
    const auto seconds = draw_tokens(random, V / 3, first_value(), root);
    for (const int64_t both : draw_permutation(random, P))
      pairs.keys.push_back({firsts[both / root], seconds[both % root]});
  } else {
    for (const int64_t key : draw_tokens(random, 1, V / 2, P)) pairs.keys.push_back({key});
  }
  for (const int64_t again : draw_distinct(random, P, config_.overwritten))
    pairs.keys.push_back(pairs.keys[again]);
  pairs.values = draw_tokens(random, first_value(), V, context_pairs());
  return pairs;
}

TaskSample Mqar::draw_sample(uint64_t seed, int64_t index, int64_t) const {
  RandomStream random = content_stream(seed, index);
  const auto [keys, values] = draw_pairs(random);
  const auto places = draw_places(random, this->places(), config_.pairs);
  TaskSample sample;
  for (int64_t step = 0; step < config_.length; ++step)
    sample.tokens.push_back(config_.filler == MqarFiller::kRandom
                                ? draw_between(random, 0, config_.vocabulary - 1)
                                : 0);
  const auto put = [&](int64_t unit, const std::vector<int64_t>& key) {
    const auto at = sample.tokens.begin() + unit * (key_width() + 1);
    return std::copy(key.begin(), key.end(), at);
  };
  std::vector<int64_t> classes(sample.tokens.size(), kNotAsked);
  std::map<std::vector<int64_t>, int64_t> value_of;  // the last one of each key
  for (size_t i = 0; i < keys.size(); ++i) *put(i, keys[i]) = value_of[keys[i]] = values[i];
  for (size_t i = 0; i < places.size(); ++i) {
    const auto behind = put(context_pairs() + places[i], keys[i]);
    classes[behind - sample.tokens.begin() - 1] = value_of.at(keys[i]);
  }
  const auto asked = [](int64_t value) { return value != kNotAsked; };
  const auto first = std::find_if(classes.begin(), classes.end(), asked);
  const auto end = std::find_if(classes.rbegin(), classes.rend(), asked).base();
  sample.steps = end - classes.begin();
  sample.tokens.resize(sample.steps);
  sample.first_answer = first - classes.begin();
  sample.answers = end - first;
  sample.classes.assign(first, end);
  return sample;
}

config::Json Mqar::describe(uint64_t seed, int64_t index) const {
  const TaskSample sample = this->sample(seed, index);
  config::Json answers = config::Json::array();
  for (int64_t i = 0; i < sample.answers; ++i)
    if (const int64_t value = sample.classes[i]; value != kNotAsked)
      answers.push_back({sample.first_answer + i, value});
  return {{"index", index}, {"tokens", sample.tokens}, {"answers", std::move(answers)}};
}

std::vector<Level> Mqar::levels() const {
  const double pairs = config_.pairs;
  const double overwritten = config_.overwritten;
  std::vector<Level> levels = {
      {"any value", "accuracy", 1.0 / static_cast<double>(config_.vocabulary - first_value())},
      {"any value of the context", "accuracy", 1 / (pairs + overwritten)}};
  if (config_.overwritten > 0)
    levels.push_back({"the key's first value", "accuracy", (pairs - overwritten) / pairs});
  if (config_.compound)
    levels.push_back({"a value of the key's first half", "accuracy", 1 / std::sqrt(pairs)});
  return levels;
}

}  // namespace tessera::task
