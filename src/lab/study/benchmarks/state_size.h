#pragma once

#include <cstdint>

#include "tessera/model/sequence_model.h"

namespace tessera::benchmark_study {

/// Bytes of the numbers that the model keeps of one sequence of so many tokens, measured: those of
/// the tensors of its state, but for counters.
int64_t state_bytes_after(SequenceModel& model, int64_t tokens);

/// Those that each further token adds, behind so many: 0 for a state of fixed size.
int64_t state_bytes_per_token(SequenceModel& model, int64_t tokens);

}  // namespace tessera::benchmark_study
