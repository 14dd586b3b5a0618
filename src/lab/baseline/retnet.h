#pragma once

#include <torch/nn/modules/linear.h>

#include "lab/baseline/recurrent_block_network.h"
#include "lab/baseline/retention.h"
#include "lab/baseline/tensor_state.h"

namespace tessera {

struct RetNetConfig {
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
    field("heads", heads, "retention heads, each with a decay of its own; divides channels",
          kCounts);
    field("channels", channels, "width of the network", kSizes);
    field("bias", bias, "biases in linear maps and norms");
    field("dropout", dropout, "probability, on embeddings and layer outputs", config::below(1));
    field("precision", precision, "number format of the linear maps");
  }

  /// Throws UsageError that names the field and what it may be.
  void check() const;
};

/// One block: x += retention(norm(x)); x += feed_forward(norm(x)). State: "retained" S [B, H, D,
/// 2D] and "steps" [B], int64 on the CPU, those that each sequence has read.
class RetNetBlockImpl : public RecurrentBlock {
 public:
  RetNetBlockImpl(const RetNetConfig& config, at::Device device);

  Norm retention_norm = nullptr;
  torch::nn::Linear query_key_value_gate = nullptr;  ///< [C + C + 2C + 2C, C]
  torch::nn::Linear retention_output = nullptr;      ///< [C, 2C]
  Norm feed_forward_norm = nullptr;
  torch::nn::Linear expand = nullptr;    ///< [2C, C]
  torch::nn::Linear contract = nullptr;  ///< [C, 2C]

 private:
  enum Part : size_t { kRetained, kSteps };  // of the state
  std::pair<at::Tensor, State> remember(const at::Tensor& x, const State& state) override;
  at::Tensor feed_forward(const at::Tensor& x) override;

  RetNetConfig config_;
  at::Tensor decays_;  // [H]
};
TORCH_MODULE(RetNetBlock);

/// A retentive network (Sun et al. 2023, *Retentive Network: A Successor to Transformer*), a
/// baseline of linear attention with multi-scale decays:
///   q, k, v, g = W x (v and g of twice the width); q and k are turned by rotary positions
///   S_t = gamma_h S_{t-1} + k_t v_t^T / sqrt(D), gamma_h = 1 - 2^(-5-h)  (eq. 6, 8), 0 <= h < H
///   retention(x) = W_o (silu(g) * norm_h(S_t^T q_t))                     (eq. 8)
///   feed_forward(x) = W_2 gelu(W_1 x), 2C wide                           (eq. 9)
/// norm_h has mean 0 and variance 1 over the 2D values of a head, without gain, as in the authors'
/// code. A block has 12 C^2 weights, as a GPT's. Embedding, norms and tied logits as GPT.
/// Differs from the authors' code: the scores are not divided by sums of decays and of themselves,
/// which norm_h undoes; and from their initialisation (initialise()).
class RetNet : public RecurrentBlockNetwork<RetNetConfig, RetNetBlock> {
 public:
  static constexpr std::string_view kKind = "retnet";

  /// As ModelKind::make.
  explicit RetNet(const RetNetConfig& config, std::optional<uint64_t> seed = 0,
                  at::Device device = at::kCPU);

  std::string_view kind() const override { return kKind; }
  /// As GPT, N(0, 0.02^2), divided by sqrt(2 L) at the end of a branch; queries, keys, values and
  /// gates N(0, 1 / C), so that norm_h sees more than its epsilon.
  void initialise(uint64_t seed) override;
};

}  // namespace tessera
