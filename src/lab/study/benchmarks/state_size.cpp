#include "lab/study/benchmarks/state_size.h"

#include <ATen/Functions.h>

namespace tessera::benchmark_study {

int64_t state_bytes_after(SequenceModel& model, int64_t tokens) {
  const SequenceOutput read = model.read(at::zeros({1, tokens}, at::kLong), model.empty_state());
  int64_t bytes = 0;
  for (const auto& [name, tensor] : read.state.tensors())
    if (tensor.is_floating_point()) bytes += static_cast<int64_t>(tensor.nbytes());
  return bytes;
}

int64_t state_bytes_per_token(SequenceModel& model, int64_t tokens) {
  return (state_bytes_after(model, 2 * tokens) - state_bytes_after(model, tokens)) / tokens;
}

}  // namespace tessera::benchmark_study
