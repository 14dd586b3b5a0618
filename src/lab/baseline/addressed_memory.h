#pragma once

#include <ATen/core/Tensor.h>

#include <cmath>

#include "lab/baseline/lstm_layer.h"
#include "lab/baseline/recurrent_network.h"
#include "tessera/memory/make_linear.h"
#include "tessera/model/initialisation.h"

namespace tessera::ops {

/// Addressing by content: how much each key attends to each slot of a memory,
///     w_hn = softmax_n(strength_h cos(key_h, m_n)),  cos(a, b) = a . b / (|a| |b| + 1e-6),
/// so that a zero vector is like nothing (Graves et al. 2014, eq. 5, 6; Graves et al. 2016).
/// keys [B, H, W], strengths [B, H], memory [B, N, W] -> [B, H, N]. Throws UsageError on a
/// shape mismatch.
at::Tensor content_weights(const at::Tensor& keys, const at::Tensor& strengths,
                           const at::Tensor& memory);

/// What H write heads make of a memory: each erases, then all add (Graves et al. 2014, eq. 3, 4),
///     m_n <- m_n prod_h (1 - w_hn e_h) + sum_h w_hn a_h.
/// memory [B, N, W], weights [B, H, N], erase, add [B, H, W] -> [B, N, W]. Throws UsageError
/// on a shape mismatch.
at::Tensor erase_and_add(const at::Tensor& memory, const at::Tensor& weights,
                         const at::Tensor& erase, const at::Tensor& add);

}  // namespace tessera::ops

namespace tessera {

/// A network whose controller, an LSTM of `config.controller` units, moves heads over a memory of
/// `config.slots` rows of `config.width` numbers, which is the first part of its state.
template <typename Network, typename Config>
class AddressedMemoryNetwork : public ConfiguredNetwork<Network, Config> {
 public:
  /// The first memory is uniform in ±1/sqrt(N + W).
  void initialise(uint64_t seed) override {
    StepwiseNetwork::initialise(seed);
    const double bound = 1 / std::sqrt(this->config_.slots + this->config_.width);
    Initialiser(*derived_seed(seed, 1)).uniform(this->first(0), -bound, bound);
  }

 protected:
  /// reads: numbers that all read heads read in a step; asked: what the controller asks of the
  /// heads.
  AddressedMemoryNetwork(const Config& config, int64_t reads, int64_t asked, at::Device device)
      : ConfiguredNetwork<Network, Config>(config, device),
        controller_(this->register_module(
            "controller", LstmLayer(config.inputs, config.controller, device, reads))),
        interface_(this->register_module(
            "interface", make_linear(config.controller, asked, /*with_bias=*/true, device))) {}

  at::Tensor project(const at::Tensor& x) override { return controller_->project(x); }

  LstmLayer controller_;
  torch::nn::Linear interface_;
};

}  // namespace tessera
