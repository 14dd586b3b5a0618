#pragma once

#include <cfenv>
#include <functional>
#include <future>
#include <vector>

#include "tessera/tensor/tensor_file.h"
#include "tessera/train/learner.h"
#include "tessera/train/optimizer.h"
#include "tessera/train/train_config.h"

namespace tessera {

class Processes;

/// Seeds LibTorch's default generator from (seed, step, draw).
void seed_generator(uint64_t seed, int64_t step, uint64_t draw);

/// What an update follows from, besides the gradient itself.
struct UpdateGradient {
  double loss;   ///< mean over the micro-batches
  double norm;   ///< of the gradient before anything is clipped
  double scale;  ///< what config.clip makes of it, its numbers being within config.clip_value
};

/// Computes the mean loss of the micro-batches of one update, and its gradient in the parameters'
/// grad, whose numbers are then within config.clip_value unless some are not finite. With several
/// `processes` (null: one), micro-batch i is computed by process i mod their number, and the sums
/// are the same bits in all of them. The loss is read from its device once. Throws UsageError where
/// a loss is no scalar with a graph; ProcessLost.
UpdateGradient compute_gradient(Learner& learner, Optimizer& optimizer, int64_t step,
                                Processes* processes);

/// Sums gradients over the processes while the backward pass goes on (Li et al. 2020, section
/// 3.2.3). The parameters lie in buckets, the last parameter first, as a backward pass reaches
/// them; a bucket is sent when all of its gradients are there and the buckets before it are sent,
/// so that all processes send in one order.
/// Differs from c10d's Reducer: sums instead of means, no second set of buckets in the order of the
/// first pass, and nothing of c10d that changed between LibTorch 1.13 and 2.
class GradientSums {
 public:
  /// Watches the next backward pass, the last one of an update.
  GradientSums(Processes& processes, const NamedTensors& parameters,
               WirePrecision wire = WirePrecision::kFloat32);
  ~GradientSums() {
    for (const auto& unhook : unhooks_) unhook();
  }
  GradientSums(const GradientSums&) = delete;
  GradientSums& operator=(const GradientSums&) = delete;

  /// After the pass: sends what is left, where a gradient that is missing counts as 0, and waits
  /// until every parameter's grad is the sum. Throws ProcessLost.
  void wait();

 private:
  struct Bucket {
    std::vector<at::Tensor> parameters;
    size_t missing;         // gradients that are not there yet
    std::future<void> sum;  // valid once it is sent
  };
  void on_gradient(Bucket& bucket);
  void send(Bucket& bucket);

  Processes& processes_;
  WirePrecision wire_;
  std::vector<Bucket> buckets_;
  size_t sent_ = 0;                             // buckets
  std::vector<std::function<void()>> unhooks_;  // each takes a hook from its parameter
};

/// While it lives, floats below 2^-126 and doubles below 2^-1022 count as 0 in this thread and in
/// those of the parallel regions that it begins, where LibTorch can say so to the processor
/// (x86-64). Gradients of what decays step by step are full of them, and Intel processors multiply
/// them slowly: bench/RESULTS.md.
class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  std::fenv_t before_;
};

}  // namespace tessera
