#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "lab/task/moons/three_moons.h"
#include "tessera/memory/stored_pairs.h"
#include "tessera/model/initialisation.h"
#include "tessera/model/sequence_model.h"

namespace tessera::ops {

/// y = W x over the complex numbers, each of which is two channels, its real and its imaginary
/// part:
///   re y_o = sum_i re w_oi re x_i - im w_oi im x_i,
///   im y_o = sum_i im w_oi re x_i + re w_oi im x_i.
/// x [.., 2 in], weight [out, in, 2] -> [.., 2 out], in the dtype of x. Throws UsageError on a
/// shape or dtype mismatch.
at::Tensor complex_linear(const at::Tensor& x, const at::Tensor& weight);

}  // namespace tessera::ops

namespace tessera {

/// How the matrices of a ComplexMosaic begin. kUniform: as the authors' code draws them. kUnitary:
/// ours, one random unitary matrix for keys and values, and its inverse for the output, so that the
/// memories begin with different parts of the input, and each predicts the part that it stores.
enum class ComplexStart { kUniform, kUnitary };
constexpr std::array<std::string_view, 2> enum_names(ComplexStart) {
  return {"uniform", "unitary"};
}

struct ComplexMosaicConfig {
  int64_t inputs = 6;
  int64_t outputs = 6;
  int64_t heads = 3;
  int64_t channels = 6;
  double beta = 50;
  ComplexStart start = ComplexStart::kUniform;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("inputs", inputs, "width of the input vectors, two channels for a complex number",
          kSizes);
    field("outputs", outputs, "width of the output vectors, likewise", kSizes);
    field("heads", heads, "memories side by side", kCounts);
    field("channels", channels, "width of the keys and values of all memories together", kSizes);
    field("beta", beta, "bandwidth of the smoothing kernel", config::above(0));
    field("start", start,
          "how the matrices begin: as the authors draw them, or ours: a random unitary matrix for "
          "keys and values, its inverse for the output");
  }

  /// Throws UsageError on sizes that are not positive, widths that are odd, channels that are not
  /// a complex number or more for each head, a bandwidth that is not above 0, and a unitary start
  /// where inputs, channels and outputs are not as many.
  void check() const;
};

/// What a ComplexMosaic knows after a sequence. A value: copies are forks.
struct ComplexMosaicState {
  StoredPairs pairs;
  at::Tensor pending_key;  ///< [B, H, D]: waits for its value, which is the next input's

  /// Sequences; 0 before the first step.
  int64_t rows() const { return pending_key.defined() ? pending_key.size(0) : 0; }
  static ComplexMosaicState stack(const std::vector<const ComplexMosaicState*>& parts);
  ComplexMosaicState select(const std::vector<int64_t>& rows) const;
  NamedTensors tensors(const std::string& prefix) const;
};

/// The network of the three moons (Zhang et al. 2024, section 5, figure 3): one layer of H
/// contextual memories between complex matrices, without biases and norms. It predicts the next
/// input.
///     k_t = W_phi x_t,   v_t = W_psi x_{t+1},   z_t = W_z concat_h(y_t),
///     y_t = sum_{i < t} softmax_i(beta k_t . k_i) v_i   per head,   y_1 = 0.
/// A vector of n channels is n / 2 complex numbers, and a head has D = channels / H channels. A
/// pair is complete when the input that follows its key is read. Differs from the authors' code:
/// they store each matrix as [2 out, 2 in] real numbers and project it onto the complex ones in
/// every step. Here it is [out, in, 2], real and imaginary parts, so that there are as many
/// parameters as the paper says (54 with 6 channels). AdamW moves both forms alike, but for its
/// epsilon.
class ComplexMosaic : public SequenceModel {
 public:
  using Config = ComplexMosaicConfig;
  static constexpr std::string_view kKind = "complex_mosaic";

  /// As ModelKind::make.
  explicit ComplexMosaic(const ComplexMosaicConfig& config, std::optional<uint64_t> seed = 0,
                         at::Device device = at::kCPU);

  std::string_view kind() const override { return kKind; }
  config::Json hyper_parameters() const override { return config::to_json(config_); }

  /// x [B, T, inputs] -> [B, T - first_output, outputs]. Has no dropout.
  at::Tensor forward(const at::Tensor& x, std::optional<uint64_t> dropout_seed = {},
                     int64_t first_output = 0) override;
  SequenceState empty_state() const override;
  SequenceOutput read(const at::Tensor& x, SequenceState&& state,
                      int64_t first_output = 0) override;
  SequenceState state_from(const TensorFile& file, const SequenceState& empty) const override;

  /// kUniform: real numbers uniform in ±1 / sqrt(channels that a matrix reads), projected onto
  /// complex matrices. kUnitary: U, U and U^-1 of the same variance.
  void initialise(uint64_t seed) override;

 private:
  at::Tensor placed(const at::Tensor& x) const;
  void draw_uniform(Initialiser& draw);
  void draw_unitary(Initialiser& draw);
  /// [B, T, channels] -> [B, T, H, D].
  at::Tensor split_heads(const at::Tensor& x) const;

  ComplexMosaicConfig config_;
  at::Tensor key_;     ///< W_phi [channels / 2, inputs / 2, 2]
  at::Tensor value_;   ///< W_psi, likewise
  at::Tensor output_;  ///< W_z [outputs / 2, channels / 2, 2]
};

}  // namespace tessera

namespace tessera::task {

/// The absolute values of complex weights: [out, in, 2] -> [out, in].
at::Tensor moduli(const at::Tensor& weight);

/// How three memories of a complex channel each divide three moons among themselves.
struct Disentanglement {
  /// In a row of W_phi, W_psi or W_z: the largest modulus over the sum of all three. Here the least
  /// of the nine rows: 1/3 where a row does not tell the moons apart, 1 where each row has one
  /// entry.
  double least_dominance = 0;
  /// The moon whose modulus is the largest in each memory's row of W_phi.
  std::array<int64_t, kMoons> moons{};
  /// Whether these are three different moons, and W_psi and W_z have their largest moduli at the
  /// same ones: each memory stores and predicts the moon that it looks for.
  bool one_moon_each = false;

  bool holds(double dominance) const { return one_moon_each && least_dominance >= dominance; }
};

/// Throws UsageError on a network that is not of 3 complex inputs, outputs and channels.
Disentanglement disentanglement(const ComplexMosaic& model);

}  // namespace tessera::task
