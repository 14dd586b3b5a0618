#include "tessera/infer/read_pieces.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "tessera/base/interrupt.h"
#include "tessera/model/language_model.h"

namespace tessera {

SequenceState read_pieces(LanguageModel& model, const at::Tensor& tokens, SequenceState&& state,
                          const OnHidden& on_hidden) {
  const int64_t length = tokens.size(1);
  for (int64_t first = 0; first < length; first += kPieceTokens) {
    if (first > 0) InterruptGuard::stop_if_interrupted("interrupted");
    const int64_t count = std::min(kPieceTokens, length - first);
    SequenceOutput read = model.read(tokens.narrow(1, first, count), std::move(state));
    state = std::move(read.state);
    on_hidden(read.outputs, first);
  }
  return std::move(state);
}

}  // namespace tessera
