#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/memo/text_memory_config.h"

namespace tessera::store {

/// What it takes to memorize some documents.
struct ExpectedCost {
  double seconds = 0;       ///< with this processor and its threads, as they are now
  double memory_bytes = 0;  ///< at most at one time
  double disk_bytes = 0;    ///< of the store afterwards; while it is written, a second matrix
  double index_bytes = 0;   ///< of these, the full-text index (FTS5) with the text itself
};

/// The cost of memorizing these documents, which write so many pairs and have so many bytes of
/// text, in a new store of this configuration. The time comes from storing the first
/// probed_tokens() of the longest document in one matrix of this size, which is allocated for it.
ExpectedCost expected_cost(const memo::TextMemoryConfig& config,
                           const std::vector<std::vector<int32_t>>& documents, int64_t pairs,
                           int64_t text_bytes);

/// As many tokens as a matrix gets of a document, on average, 512 at most: the matrix is read and
/// written once for each document, so that a pair of a long one costs less. At least one pair's.
size_t probed_tokens(const memo::TextMemoryConfig& config,
                     const std::vector<std::vector<int32_t>>& documents);

}  // namespace tessera::store
