#include "tessera/infer/read_pieces.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"

namespace tessera {

void read_pieces(LanguageModel& model, const at::Tensor& tokens, LanguageModelState& state,
                 const OnHidden& on_hidden) {
  const int64_t length = tokens.size(1);
  for (int64_t first = 0; first < length; first += kPieceTokens) {
    if (first > 0) check_interrupt();
    const int64_t count = std::min(kPieceTokens, length - first);
    on_hidden(model.read(tokens.narrow(1, first, count), state), first);
  }
}

void check_interrupt() {
  if (InterruptGuard::interrupted()) throw Interrupted("interrupted");
}

}  // namespace tessera
