#include "lab/task/priority_sort/priority_sort.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "lab/task/sequence/draws.h"
#include "tessera/base/consecutive.h"

namespace tessera::task {
namespace {

constexpr double kReadingStep = 0.01;          // of the coarse reader among the levels
constexpr int64_t kLevelPriorities = 400'000;  // that a level is measured on

/// Numbers of a range that is shorter by the gaps, which then move them apart: uniform among all
/// that have such gaps.
std::vector<float> draw_priorities(RandomStream& random, const PrioritySortConfig& config) {
  const double range = 2 - static_cast<double>(config.vectors - 1) * config.least_gap;
  std::vector<float> priorities;
  for (int64_t i = 0; i < config.vectors; ++i)
    priorities.push_back(static_cast<float>(range * random.uniform() - 1));
  double gaps = static_cast<double>(config.vectors) * config.least_gap;
  for (const int64_t place : highest_priorities(priorities, config.vectors)) {
    gaps -= config.least_gap;  // below the one at this place
    priorities[place] += static_cast<float>(gaps);
  }
  return priorities;
}

/// Of the places of an answer, how many hold another vector where priorities are known in steps of
/// kReadingStep.
double places_misread(const PrioritySortConfig& config) {
  const int64_t samples = std::max<int64_t>(1, kLevelPriorities / config.vectors);
  int64_t misread = 0;
  for (int64_t index = 0; index < samples; ++index) {
    RandomStream random = content_stream(0, index);
    std::vector<float> priorities = draw_priorities(random, config);
    const auto truth = highest_priorities(priorities, config.answers);
    for (float& priority : priorities)
      priority = static_cast<float>(std::floor(priority / kReadingStep));
    const auto coarse = highest_priorities(priorities, config.answers);
    for (size_t i = 0; i < truth.size(); ++i) misread += truth[i] != coarse[i] ? 1 : 0;
  }
  return static_cast<double>(misread) / static_cast<double>(samples);
}

}  // namespace

std::vector<int64_t> highest_priorities(std::span<const float> priorities, int64_t count) {
  check_argument(0 <= count && count <= std::ssize(priorities),
                 "highest_priorities: {} of {} vectors", count, priorities.size());
  std::vector<int64_t> order = consecutive<int64_t>(priorities.size());
  std::ranges::stable_sort(order, std::greater{}, [&](int64_t i) { return priorities[i]; });
  order.resize(count);
  return order;
}

PrioritySort::PrioritySort(const PrioritySortConfig& config) : ConfiguredTask(config) {
  check_range(config.answers, 1, config.vectors, "task.answers");
  check_argument(static_cast<double>(config.vectors - 1) * config.least_gap < 2,
                 "task.least_gap is {:g}: {} priorities from -1 to 1 cannot be so far apart",
                 config.least_gap, config.vectors);
}

TaskShape PrioritySort::shape() const {
  return bit_shape(config_.bits);
}

PrioritySort::Vectors PrioritySort::draw(uint64_t seed, int64_t index) const {
  RandomStream random = content_stream(seed, index);
  BitRows rows = draw_bit_rows(random, config_.vectors, config_.bits);
  return {std::move(rows), draw_priorities(random, config_)};
}

TaskSample PrioritySort::draw_sample(uint64_t seed, int64_t index, int64_t) const {
  const Vectors vectors = draw(seed, index);
  TaskSample sample;
  for (size_t i = 0; i < vectors.rows.size(); ++i)
    add_bit_row(sample, vectors.rows[i])[config_.bits] = vectors.priorities[i];
  BitRows sorted;
  for (int64_t place : highest_priorities(vectors.priorities, config_.answers))
    sorted.push_back(vectors.rows[place]);
  answer_with_bits(sample, sorted);
  return sample;
}

config::Json PrioritySort::describe(uint64_t seed, int64_t index) const {
  const Vectors vectors = draw(seed, index);
  return {{"index", index},
          {"vectors", bit_texts(vectors.rows)},
          {"priorities", shortest_decimals(vectors.priorities)},
          {"answer", highest_priorities(vectors.priorities, config_.answers)}};
}

std::vector<Level> PrioritySort::levels() const {
  const double wrong_in_place = 0.5 * static_cast<double>(config_.bits);
  return {{"guess every bit", "bits per sequence",
           wrong_in_place * static_cast<double>(config_.answers)},
          {"sort, reading priorities in steps of 0.01", "bits per sequence",
           wrong_in_place * places_misread(config_)}};
}

}  // namespace tessera::task
