#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/memo/text_memory.h"
#include "tessera/store/memo_store.h"

namespace tessera::store {

/// How full a memory is, by the noise law of correlation memories (plan/correlation_noise.h). It
/// assumes uniform tokens and one stored continuation of every context: natural text, with its
/// repeated windows, is recalled a little worse.
struct Fullness {
  double capacity = 0;  ///< pairs that are recalled at a rate of 99 %
  double filled = 0;    ///< pairs held / capacity; above 1 when overfull
  /// Share of tokens recalled now, after a context as long as each window length, shortest first;
  /// 1 in an empty memory.
  std::vector<double> expected_recall_after;
};

Fullness fullness_of(const memo::TextMemory& memory);

/// Fullness::capacity of a memory of this configuration.
double pair_capacity(const memo::TextMemoryConfig& config);

/// What a store holds.
struct StoreStatistics {
  std::string digest;  ///< MemoStore::digest()
  LedgerTotals totals;
  Fullness fullness;
  memo::TextMemoryConfig memory;
  std::string tokenizer;                       ///< Tokenizer::description()
  int64_t matrix_bytes = 0, ledger_bytes = 0;  ///< of their files
  bool erasure_pending = false;                ///< as Ledger has it
  std::vector<std::string> unerased;
};

/// As the files say it, without reading the matrices, if they hold the last change. Throws as
/// MemoStore::memory().
StoreStatistics statistics_of(const MemoStore& store);

}  // namespace tessera::store
