#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/linear.h>

#include "lab/baseline/recurrent_block_network.h"
#include "lab/baseline/retention.h"
#include "lab/baseline/tensor_state.h"

namespace tessera::ops {

/// The gated delta rule (Yang et al. 2024, section 3.1): linear attention that forgets and corrects
/// what it stores under a key,
///   S_t = alpha_t (I - beta_t k_t k_t^T) S_{t-1} + beta_t k_t v_t^T,   y_t = S_t^T q_t.
/// (S [D, E] is the transpose of the paper's.) queries, keys [B, T, H, D], values [B, T, H, E],
/// log_decays: log alpha <= 0, finite, and rates: beta, [B, T, H]; state [B, H, D, E]: S before the
/// first step, undefined for zeros. Differentiable in all of them.
///
/// A chunk of steps is computed at once from its WY representation (section 3.3), from chunk to
/// chunk as S: the time grows with T. T = 1 is the recurrent step. Throws UsageError on a shape or
/// dtype mismatch and unless chunk >= 1.
Retained gated_delta_rule(const at::Tensor& queries, const at::Tensor& keys,
                          const at::Tensor& values, const at::Tensor& log_decays,
                          const at::Tensor& rates, const at::Tensor& state = {},
                          int64_t chunk = 64);

}  // namespace tessera::ops

namespace tessera {

struct GatedDeltaNetConfig {
  int64_t vocabulary = 50304;
  int64_t window = 512;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t channels = 768;
  bool bias = false;
  double dropout = 0.05;
  ops::Precision precision = ops::Precision::kFloat32;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("vocabulary", vocabulary, "number of tokens", kSizes);
    field("window", window, "tokens of a training window", kSizes);
    field("layers", layers, "number of blocks", kCounts);
    field("heads", heads, "memories of a block; 4 * heads divides 3 * channels", kCounts);
    field("channels", channels, "width of the network", kSizes);
    field("bias", bias, "biases in linear maps and the last norm");
    field("dropout", dropout, "probability, on embeddings and layer outputs", config::below(1));
    field("precision", precision, "number format of the linear maps");
  }

  /// D: channels of a key; a value has twice as many.
  int64_t key_width() const { return 3 * channels / (4 * heads); }
  /// Throws UsageError that names the field and what it may be.
  void check() const;
};

/// One block: x += delta(norm(x)); x += feed_forward(norm(x)). State: "retained" S [B, H, D, 2D]
/// and "recent" [B, 3, 3C], what the convolutions read of the last steps.
class GatedDeltaNetBlockImpl : public RecurrentBlock {
 public:
  GatedDeltaNetBlockImpl(const GatedDeltaNetConfig& config, at::Device device);

  at::Tensor delta_norm;                             ///< [C], the gain
  torch::nn::Linear query_key_value_gate = nullptr;  ///< [3C/4 + 3C/4 + 3C/2 + 3C/2, C]
  torch::nn::Linear decay_and_rate = nullptr;        ///< [2H, C]: W_a, W_b
  at::Tensor convolution;                            ///< [4, 3C], the oldest step first
  at::Tensor log_decay_factor;                       ///< A [H]
  at::Tensor decay_bias;                             ///< b [H]
  at::Tensor read_norm;                              ///< [2D], the gain
  torch::nn::Linear delta_output = nullptr;          ///< [C, 3C/2]
  at::Tensor feed_forward_norm;                      ///< [C], the gain
  torch::nn::Linear expand = nullptr;                ///< [4C, C]: the gate, then the values
  torch::nn::Linear contract = nullptr;              ///< [C, 2C]

 private:
  enum Part : size_t { kRetained, kRecent };  // of the state
  std::pair<at::Tensor, State> remember(const at::Tensor& x, const State& state) override;
  at::Tensor feed_forward(const at::Tensor& x) override;

  GatedDeltaNetConfig config_;
};
TORCH_MODULE(GatedDeltaNetBlock);

/// A gated DeltaNet (Yang et al. 2024, *Gated Delta Networks: Improving Mamba2 with Delta Rule*), a
/// baseline of linear attention that overwrites what a key had stored. In each head, with D =
/// 3C/4H:
///   q, k = unit(silu(conv(W x))), v = silu(conv(W_v x)), 2D wide, conv over the last 4 steps of
///   each channel
///   beta_t = sigmoid(W_b x_t),  log alpha_t = -exp(A) softplus(W_a x_t + b)
///   S_t = alpha_t (I - beta_t k_t k_t^T) S_{t-1} + beta_t k_t v_t^T  (section 3.1)
///   delta(x) = W_o (rms_norm(S_t^T q_t / sqrt(D)) * silu(W_g x))  (section 3.4, figure 1)
///   feed_forward(x) = W_3 (silu(W_1 x) * W_2 x), 2C wide
/// norm is the root mean square norm with a gain.
/// Differs from the authors' code: a feed-forward layer of 2C instead of 8C/3, so that a block has
/// 12 C^2 weights as a GPT's beside 14 C + 2 H (C + 1) + 2D; the norm before the logits also
/// subtracts the mean, and logits are tied, as GPT; and first weights (initialise()).
class GatedDeltaNet : public RecurrentBlockNetwork<GatedDeltaNetConfig, GatedDeltaNetBlock> {
 public:
  static constexpr std::string_view kKind = "gated_deltanet";

  /// As ModelKind::make.
  explicit GatedDeltaNet(const GatedDeltaNetConfig& config, std::optional<uint64_t> seed = 0,
                         at::Device device = at::kCPU);

  std::string_view kind() const override { return kKind; }
  /// Also without the convolutions.
  std::vector<std::string> weight_matrices() const override;
  /// As RetNet. Decays as the authors: exp(A) uniform in [0, 16), softplus(b) log-uniform in
  /// [0.001, 0.1); convolutions uniform in +-1/2.
  void initialise(uint64_t seed) override;
};

}  // namespace tessera
