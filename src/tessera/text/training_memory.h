#pragma once

#include <cstdint>

#include "tessera/base/config.h"
#include "tessera/text/corpus.h"

namespace tessera {

/// The smallest vocabulary that the corpus can have, as far as it is known before the text is read:
/// data.vocabulary for a BPE that is to be learned, 257 for bytes, otherwise 1.
int64_t expected_vocabulary(const CorpusConfig& config);

/// Throws UsageError, with the numbers and the keys to change, where a training needs more memory
/// than this machine has: 16 bytes for each parameter (weight, gradient, AdamW's two moments), and
/// at least the inputs of all blocks for `batch` windows, which the backward pass reads. model: the
/// [model] table, kind included.
void check_training_memory(const config::Json& model, int64_t vocabulary, int64_t batch);

}  // namespace tessera
