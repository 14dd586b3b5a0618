#pragma once

#include <cstdint>
#include <cstdio>
#include <vector>

#include "tessera/text/corpus.h"
#include "tessera/train/train_config.h"

namespace tessera {

class LanguageModel;

/// The loss at every position of a window, over windows spread evenly through a validation text.
struct PositionLoss {
  std::vector<double> nats;  ///< per token, by position in the window; empty: not measured
  int64_t windows = 0;       ///< measured
  int64_t planned = 0;       ///< as many as were to be measured
};

/// Windows to measure after a training: a tenth of those that it read, from 8 to 256. Reading a
/// window takes about a third of the time of training on it, so that the measurement takes a few
/// hundredths of the training's time, however large the model.
int64_t position_loss_windows(const TrainConfig& config);

/// Measures `windows` windows, `batch` at a time, and draws its progress on `progress` (null:
/// silent). While an InterruptGuard lives a signal ends it between two batches with what there is.
PositionLoss measure_position_loss(LanguageModel& model, const Corpus& corpus, int64_t windows,
                                   int64_t batch, std::FILE* progress);

}  // namespace tessera
