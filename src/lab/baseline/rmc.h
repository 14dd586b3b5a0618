#pragma once

#include <torch/nn/modules/container/sequential.h>

#include <array>

#include "lab/baseline/recurrent_network.h"
#include "tessera/model/block_network.h"

namespace tessera {

/// What one gate of a relational memory core opens: a unit of a slot, or a whole slot.
enum class RmcGates { kUnit, kMemory };
constexpr std::array<std::string_view, 2> enum_names(RmcGates) {
  return {"unit", "memory"};
}

struct RmcConfig {
  int64_t inputs = 34;
  int64_t outputs = 32;
  int64_t slots = 8;
  int64_t heads = 8;
  int64_t head_width = 16;
  int64_t mlp_layers = 2;
  RmcGates gates = RmcGates::kUnit;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("inputs", inputs, "width of the input vectors", kSizes);
    field("outputs", outputs, "width of the output vectors", kSizes);
    field("slots", slots, "rows of the memory", kSizes);
    field("heads", heads, "attention heads", kCounts);
    field("head_width", head_width, "width of a head; a row has heads x head_width", kSizes);
    field("mlp_layers", mlp_layers, "linear layers after the attention", kCounts);
    field("gates", gates, "an input and a forget gate for each unit, or each row of the memory");
  }

  /// Of sizes that are each as demanded: throws UsageError where they are together too large.
  void check() const;
  int64_t width() const { return heads * head_width; }
};

/// A relational memory core (Santoro et al. 2018): a memory M of N rows, which in each step attend
/// over one another and over the input u = W_u x, and are gated:
///
///     A = attention of M over [M; u]     M' = norm(M + A)     M'' = norm(M' + MLP(M'))
///     M <- sigmoid(i) tanh(M'') + sigmoid(f + 1) M,   i, f = U_M tanh(M) + U_u u
///
/// The head of the network sees all rows. Queries, keys and values of a row are one linear map of
/// it with a norm, as in the code of DeepMind's Sonnet.
///
/// Differs from Santoro et al. 2018: the first memory is learned; it begins as theirs, the
/// identity. As in Sonnet, gates are of tanh(M) and not of an output h = sigmoid(o) tanh(M), which
/// there is not; what is written passes tanh; the MLP has ReLU between its layers and none after
/// the last.
///
/// State: "memory" [B, N, C].
class Rmc : public ConfiguredNetwork<Rmc, RmcConfig> {
 public:
  static constexpr std::string_view kKind = "rmc";

  explicit Rmc(const RmcConfig& config, std::optional<uint64_t> seed = 0,
               at::Device device = at::kCPU);
  static Layout layout_of(const RmcConfig& config);

  /// The first memory is the identity.
  void initialise(uint64_t seed) override;

 protected:
  at::Tensor project(const at::Tensor& x) override;
  at::Tensor advance(const at::Tensor& projected, Parts& state) override;

 private:
  int64_t gate_width() const;  // of one gate
  at::Tensor attended(const at::Tensor& memory, const at::Tensor& input);

  torch::nn::Linear input_ = nullptr;       // W_u
  torch::nn::Linear projection_ = nullptr;  // queries, keys, values
  Norm projection_norm_ = nullptr;          // over all three
  Norm attention_norm_ = nullptr, mlp_norm_ = nullptr;
  torch::nn::Sequential mlp_;
  torch::nn::Linear memory_gate_ = nullptr, input_gate_ = nullptr;  // U_M, U_u
};

}  // namespace tessera
