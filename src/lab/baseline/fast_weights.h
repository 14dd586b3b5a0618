#pragma once

#include "lab/baseline/recurrent_network.h"
#include "tessera/model/block_network.h"

namespace tessera {

struct FastWeightsConfig {
  int64_t inputs = 34;
  int64_t outputs = 32;
  int64_t hidden = 100;
  int64_t inner_steps = 1;
  double decay = 0.95;
  double rate = 0.5;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("inputs", inputs, "width of the input vectors", kSizes);
    field("outputs", outputs, "width of the output vectors", kSizes);
    field("hidden", hidden, "width of the hidden state", kSizes);
    field("inner_steps", inner_steps, "how often a step applies the fast weights (S)", kCounts);
    field("decay", decay, "what a step leaves of the fast weights (lambda)", config::between(0, 1));
    field("rate", rate, "how much of the hidden state's outer product a step adds to them (eta)",
          config::at_least(0));
  }
};

/// A recurrent network with fast weights A (Ba et al. 2016, eq. 1, 2, with its layer norm):
///
///     A(t) = lambda A(t-1) + eta h(t) h(t)^T            h_0 = relu(W h(t) + C x(t))
///     h_{s+1} = relu(norm(W h(t) + C x(t) + A(t) h_s)),  s < S;   h(t+1) = h_S
///
/// Differs from Ba et al. 2016: the first hidden state is learned; the head is one linear map,
/// where they have a hidden layer before the output.
///
/// State: "hidden" h [B, H] and "fast_weights" A [B, H, H], which at the start is 0.
class FastWeights : public ConfiguredNetwork<FastWeights, FastWeightsConfig> {
 public:
  static constexpr std::string_view kKind = "fast_weights";

  explicit FastWeights(const FastWeightsConfig& config, std::optional<uint64_t> seed = 0,
                       at::Device device = at::kCPU);
  static Layout layout_of(const FastWeightsConfig& config);

  /// W is 0.05 times the identity, as in the implementations of others; the paper does not say.
  void initialise(uint64_t seed) override;

 protected:
  at::Tensor project(const at::Tensor& x) override { return input_->forward(x); }
  at::Tensor advance(const at::Tensor& projected, Parts& state) override;

 private:
  enum Part : size_t { kHidden, kFastWeights };  // of the state, in layout_of

  torch::nn::Linear input_;      // C
  torch::nn::Linear recurrent_;  // W
  Norm norm_;
};

}  // namespace tessera
