#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "tessera/model/sequence_model.h"

namespace tessera::task {

/// How far off a model is that goes on by itself.
struct ContextError {
  int64_t context;  ///< observations that it had read
  double error;     ///< mean |predicted - observed| over the steps, sequences and channels
};

struct FreeRunning {
  int64_t steps = 25;  ///< predictions from one context
  int64_t stride = 1;  ///< from one context to the next
};

/// Lets the model go on from the contexts x_1 … x_c, c = 1, 1 + stride, … as far as `steps` more
/// observations follow: it predicts the next observation, reads its prediction, predicts the one
/// after it, and so on (Zhang et al. 2024, section 5, figures 4 and 5). Its memories store what it
/// predicts as they store what it observes. observations [B, T, in], the next of which is what the
/// model puts out.
/// Differs from the authors' code: that stores the value 0 for the last observation and for all
/// predictions, and compares predictions with the observation one step later.
/// on_context: called after each. Throws Interrupted between two contexts after a signal, and
/// UsageError on observations that do not fit the model or are fewer than steps + 1.
std::vector<ContextError> free_running_errors(SequenceModel& model, const at::Tensor& observations,
                                              const FreeRunning& options,
                                              const std::function<void(int64_t)>& on_context = {});

}  // namespace tessera::task
