#include "tessera/memo/recall_predictor.h"

#include <algorithm>
#include <utility>

#include "tessera/base/consecutive.h"
#include "tessera/base/error.h"
#include "tessera/base/random.h"
#include "tessera/base/smallest.h"
#include "tessera/memo/bound_window_predictor.h"
#include "tessera/memo/detail/window_error_predictor.h"

namespace tessera::memo {

namespace {

constexpr int64_t kWidest = 1000000;
constexpr int64_t kDimensionStep = 64;  // dimensions of a text memory are multiples of it

}  // namespace

RecallPredictor::RecallPredictor(const Documents& documents, const TextMemoryConfig& config) {
  check_argument(
      config.heads >= 1 && config.layers >= 1 && config.layers <= 16 && config.shards >= 1,
      "RecallPredictor: {} heads, {} layers and {} shards; at least 1 of each and at most 16 "
      "layers",
      config.heads, config.layers, config.shards);
  check_argument(config.vocabulary >= 1, "RecallPredictor: vocabulary is {}, expected at least 1",
                 config.vocabulary);
  size_t longest = 0;
  for (const auto& document : documents) {
    longest = std::max(longest, document.size());
    for (const int32_t token : document)
      check_argument(token >= 0 && token < config.vocabulary,
                     "RecallPredictor: token {}, expected less than the vocabulary, {}", token,
                     config.vocabulary);
  }
  check_argument(std::cmp_greater(longest, config.heads),
                 "RecallPredictor: no document holds a window of {} and its next token",
                 config.heads);
}

int64_t RecallPredictor::smallest_dimension(double error_allowed, int64_t step) const {
  check_argument(step >= 1, "smallest_dimension: dimensions in steps of {}, expected at least 1",
                 step);
  const auto reached = [&](int64_t steps) {
    const Spread predicted = error(std::max<int64_t>(2, steps * step));
    return predicted.mean + predicted.standard_error() <= error_allowed;
  };
  return smallest_up_to(1, std::max<int64_t>(1, kWidest / step), reached).value_or(0) * step;
}

SizePlan RecallPredictor::plan_for(double error_allowed) const {
  const int64_t dimension = smallest_dimension(error_allowed, kDimensionStep);
  if (dimension > 0) return plan_in(dimension);
  return {.associations = associations(), .error_in_any_dimension = floor(), .probes = probes()};
}

SizePlan RecallPredictor::plan_in(int64_t dimension) const {
  const Spread predicted = error(dimension);
  return {.associations = associations(),
          .dimension = dimension,
          .error = predicted.mean,
          .standard_error = predicted.standard_error(),
          .error_in_any_dimension = floor(),
          .probes = probes()};
}

std::vector<int64_t> RecallPredictor::choose(int64_t positions, int64_t probes, uint64_t seed) {
  if (positions <= probes) return consecutive<int64_t>(positions);
  RandomStream random(seed);
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < probes; ++i) chosen.push_back(random.below(positions));
  return chosen;
}

namespace {

constexpr int64_t kProbes = 2000;
// Dimensions: a larger matrix is divided, into ones that are not larger than kLargestShard.
constexpr int64_t kWorthShards = 2048, kLargestShard = 1024;

/// Time times size, for each pair.
double cost_of(int32_t shards, int64_t dimension) {
  const double d = dimension;
  return shards * d * d * d * d;
}

}  // namespace

SizePlan plan_memory(const RecallPredictor::Documents& documents, const TextMemoryConfig& config,
                     uint64_t seed, const SizeChoice& choose) {
  if (config.code == WindowCodeKind::kBound)
    return choose(BoundWindowPredictor(documents, config, kProbes, seed));
  return choose(WindowErrorPredictor(documents, config, kProbes, seed));
}

SizePlan plan_shards(const RecallPredictor::Documents& documents, TextMemoryConfig& config,
                     uint64_t seed, const SizeChoice& choose) {
  config.shards = 1;
  SizePlan best = plan_memory(documents, config, seed, choose);
  if (config.code == WindowCodeKind::kPaper) return best;
  while (best.dimension && *best.dimension > (config.shards == 1 ? kWorthShards : kLargestShard) &&
         config.shards < kMostShards) {
    TextMemoryConfig more = config;
    more.shards *= 4;
    const SizePlan plan = plan_memory(documents, more, seed, choose);
    if (!plan.dimension ||
        cost_of(more.shards, *plan.dimension) >= cost_of(config.shards, *best.dimension))
      break;
    config = more;
    best = plan;
  }
  return best;
}

}  // namespace tessera::memo
