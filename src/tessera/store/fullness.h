#pragma once

#include <vector>

#include "tessera/memo/text_memory.h"

namespace tessera {

/// How full a memory is, by the noise law of correlation memories (theory/correlation_noise.h). It
/// takes the stored tokens for uniform and every context for stored with one continuation: real
/// text, with its repeated windows, is recalled a little worse.
struct MemoryLoad {
  double capacity = 0;         ///< pairs that are recalled with 99 %
  double load = 0;             ///< pairs held / capacity
  double expected_recall = 0;  ///< now, where all windows have a say; 1 in an empty memory
  /// The same for contexts as long as each window length, which the longer windows do not read.
  std::vector<double> expected_recall_after;
};

MemoryLoad memory_load(const TextMemory& memory);

/// MemoryLoad::capacity of a memory of this configuration.
double pair_capacity(const TextMemoryConfig& config);

}  // namespace tessera
