#include "tessera/text/position_loss.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/data/token_stream.h"
#include "tessera/infer/evaluation.h"
#include "tessera/model/language_model.h"

namespace tessera {
namespace {

constexpr double kShareOfTraining = 0.1;  // of the windows that the training read
constexpr double kFewestWindows = 8, kMostWindows = 256;

/// Windows with their last target: [rows, window + 1].
at::Tensor with_last_target(const TokenBatch& windows) {
  const at::Tensor inputs = at::tensor(windows.inputs, at::kLong).view({windows.rows, -1});
  const at::Tensor targets = at::tensor(windows.targets, at::kLong).view({windows.rows, -1});
  return at::cat({inputs, targets.narrow(1, windows.length - 1, 1)}, 1);
}

}  // namespace

int64_t position_loss_windows(const TrainConfig& config) {
  const double read = static_cast<double>(config.steps) * static_cast<double>(config.batch) *
                      static_cast<double>(config.accumulation);
  return static_cast<int64_t>(std::clamp(kShareOfTraining * read, kFewestWindows, kMostWindows));
}

PositionLoss measure_position_loss(LanguageModel& model, const Corpus& corpus, int64_t windows,
                                   int64_t batch, std::FILE* progress) {
  const TokenBatch drawn =
      WindowSampler(corpus.validation, 1, model.window(), 0).evaluation_windows(windows);
  PositionLoss result{.nats = {}, .windows = 0, .planned = drawn.rows};
  Progress bar(progress, "Loss by position", drawn.rows);
  bar.update(0);
  LossByPosition losses;
  for (const at::Tensor& rows : with_last_target(drawn).split(batch)) {
    if (InterruptGuard::interrupted()) break;
    losses.add(model, rows);
    result.windows += rows.size(0);
    bar.update(result.windows, fmt::format("{} windows", result.windows));
  }
  for (int64_t position = 0; position < losses.positions(); ++position)
    result.nats.push_back(losses.at(position));
  return result;
}

}  // namespace tessera
