#include "tessera/store/fullness.h"

#include <algorithm>

#include "tessera/theory/correlation_noise.h"

namespace tessera {
namespace {

constexpr double kRecall = 0.99;

/// As the first `layers` windows of a context read it.
theory::CorrelationCode code_of(const TextMemoryConfig& config, int32_t layers) {
  const bool bound = config.code == WindowCodeKind::kBound;
  return {.rows = config.dimension,
          .columns = config.dimension,
          .vocabulary = config.vocabulary,
          .layers = layers,
          .key_variance = bound ? 1.0 : theory::shared_gaussian_key_variance(config.heads),
          .lengths_vary = !bound,
          .values_bound = bound};
}

}  // namespace

MemoryLoad memory_load(const TextMemory& memory) {
  const TextMemoryConfig& config = memory.config();
  // From the noise that is there, which knows what pairs cost that several documents share.
  const double ratio = memory.noise() / theory::correlation_noise(code_of(config, 1), 1.0);
  const auto pairs = static_cast<double>(memory.pairs());
  MemoryLoad load;
  load.capacity = pair_capacity(config);
  load.load = pairs / std::max(1.0, load.capacity);
  for (int32_t layers = 1; layers <= config.layers; ++layers)
    load.expected_recall_after.push_back(
        pairs > 0 ? theory::correlation_recall(code_of(config, layers), ratio * ratio) : 1.0);
  load.expected_recall = load.expected_recall_after.back();
  return load;
}

double pair_capacity(const TextMemoryConfig& config) {
  return theory::correlation_capacity(code_of(config, config.layers), kRecall);
}

}  // namespace tessera
