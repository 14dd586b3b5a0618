#pragma once

#include <functional>
#include <future>
#include <vector>

#include "tessera/tensor/tensor_file.h"
#include "tessera/train/train_config.h"

namespace tessera {

class Processes;

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
  ~GradientSums();
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

}  // namespace tessera
