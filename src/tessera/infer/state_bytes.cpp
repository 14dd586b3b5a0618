#include "tessera/infer/state_bytes.h"

#include "tessera/model/language_model.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace tessera {
namespace {

/// After the token 0, so many times.
double measured(LanguageModel& model, int64_t tokens) {
  const SequenceState state =
      model.read(at::zeros({1, tokens}, at::kLong), model.empty_state()).state;
  double bytes = 0;
  for (const auto& [name, tensor] : state.tensors()) bytes += tensor.nbytes();
  return bytes;
}

}  // namespace

double state_bytes(LanguageModel& model, int64_t tokens, MemoryBound bound) {
  const double first = measured(model, 1);
  const int64_t kept = bound.pairs > 0 ? std::min(tokens, bound.pairs) : tokens;
  return kept <= 1 ? first : first + (kept - 1) * (measured(model, 2) - first);
}

}  // namespace tessera
