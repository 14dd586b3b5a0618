#pragma once

#include <torch/nn/modules/linear.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "lab/baseline/tensor_state.h"
#include "tessera/model/sequence_model.h"

namespace tessera {

/// Throws UsageError where the product of these hyper-parameters is so large that the bytes of a
/// matrix of so many values cannot be counted.
void check_product(std::initializer_list<std::pair<std::string_view, int64_t>> fields);

/// What the recurrent networks over vectors have in common: x [B, T, in] -> [B, T, out] by a
/// recurrence, whose state at the start is learned, and a linear head. Gradients go through all
/// steps. The state is a TensorState with the parts that the network names. No dropout.
class RecurrentNetwork : public TensorStateNetwork {
 public:
  /// Linear maps as PyTorch draws them, LSTM layers as LstmLayer says, norms at 1 and 0, and first
  /// states at 0.
  void initialise(uint64_t seed) override;

 protected:
  struct Layout {
    int64_t inputs, features, outputs;  ///< widths; features: what the head maps to outputs
    StateParts state;                   ///< a size of -1 is 1 at the start and grows with each step
  };
  RecurrentNetwork(Layout layout, at::Device device);

  /// The recurrence: x [B, T, in], T > 0, from `state`, which becomes the one after the last step,
  /// to the features [B, T - first_output, features].
  virtual at::Tensor run(const at::Tensor& x, Parts& state, int64_t first_output) = 0;
  Parts first_state(int64_t B) const override;
  /// What a part is at the start: the parameter first_<name> of a learned one, zeros of another.
  const at::Tensor& first(size_t part) const { return first_.at(part); }

 private:
  at::Tensor placed(const at::Tensor& x) const override;
  StateParts state_parts() const override { return layout_.state; }
  at::Tensor outputs(const at::Tensor& x, Parts& state, int64_t first_output) override;

  Layout layout_;
  Parts first_;
  torch::nn::Linear head_ = nullptr;
};

/// A recurrent network whose steps can only be computed one after another, but for what depends on
/// the inputs alone.
class StepwiseNetwork : public RecurrentNetwork {
 protected:
  using RecurrentNetwork::RecurrentNetwork;

  /// What the steps need of their inputs, for all of them at once: x [T, B, in] -> [T, B, P].
  virtual at::Tensor project(const at::Tensor& x) = 0;
  /// One step: projected [B, P] of its input -> features [B, F]. The state becomes the next one.
  virtual at::Tensor advance(const at::Tensor& projected, Parts& state) = 0;

  at::Tensor run(const at::Tensor& x, Parts& state, int64_t first_output) override;
};

/// One of the two with a configuration, of which `Network::layout_of` makes the layout. What must
/// hold between its fields is in its check(), where it has one. Networks have constructors from
/// (config, seed, device), which do what ModelKind::make says.
template <typename Network, typename Configuration, typename Recurrence = StepwiseNetwork>
class ConfiguredNetwork : public Recurrence {
 public:
  using Config = Configuration;

  std::string_view kind() const override { return Network::kKind; }
  config::Json hyper_parameters() const override { return config::to_json(config_); }

 protected:
  ConfiguredNetwork(const Config& config, at::Device device)
      : Recurrence(Network::layout_of(checked(config)), device), config_(config) {}

  Config config_;

 private:
  static const Config& checked(const Config& config) {
    config::check_demands(config, "model");
    if constexpr (requires { config.check(); }) config.check();
    return config;
  }
};

}  // namespace tessera
