#include "tessera/store/memory_load.h"

#include <algorithm>

#include "tessera/theory/correlation_noise.h"

namespace tessera {
namespace {

constexpr double kRecall = 0.99;

theory::CorrelationCode code_of(const TextMemoryConfig& config) {
  const bool bound = config.code == WindowCodeKind::kBound;
  return {.rows = config.dimension,
          .columns = config.dimension,
          .vocabulary = config.vocabulary,
          .layers = config.layers,
          .key_variance = bound ? 1.0 : theory::shared_gaussian_key_variance(config.heads),
          .lengths_vary = !bound,
          .values_bound = bound};
}

}  // namespace

MemoryLoad memory_load(const TextMemory& memory) {
  const theory::CorrelationCode code = code_of(memory.config());
  theory::CorrelationCode one_window = code;
  one_window.layers = 1;
  // From the noise that is there, which knows what pairs cost that several documents share.
  const double ratio = memory.noise() / theory::correlation_noise(one_window, 1.0);
  const auto pairs = static_cast<double>(memory.pairs());
  MemoryLoad load;
  load.capacity = theory::correlation_capacity(code, kRecall);
  load.load = pairs / std::max(1.0, load.capacity);
  load.expected_recall = pairs > 0 ? theory::correlation_recall(code, ratio * ratio) : 1.0;
  return load;
}

}  // namespace tessera
