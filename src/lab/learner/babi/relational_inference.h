#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <functional>

namespace tessera {

/// The sizes of a relational inference.
struct RelationalInferenceOptions {
  int64_t inputs = 0;   ///< width of a question
  int64_t hidden = 0;   ///< width between the two maps of each MLP
  int64_t slots = 0;    ///< N: matrices of the relational memory
  int64_t width = 0;    ///< D: it is [N, D, D]
  int64_t answers = 0;  ///< V
};

/// Answers questions from a relational memory R by three reads, of which each begins with what the
/// last one found (Schlag & Schmidhuber 2018, section 2.2; Le et al. 2020, appendix J):
///     e, r1, r2, r3 = MLPs of the question, two maps each with tanh after both
///     i1 = LN(R(r1, e))   i2 = LN(R(r2, i1))   i3 = LN(R(r3, i2))   answer = Z (i1 + i2 + i3)
/// where R(r, e)[b] = Σ_s Σ_a r[s] e[a] R[s, a, b] reads by the query-key side.
/// Differs from the reference code of Le et al. 2020, which reads Z.data, so that Z stays as it was
/// drawn: here Z is learned, as in Schlag & Schmidhuber 2018. A second e and a second Z, which the
/// code draws and never uses, are left out.
class RelationalInferenceImpl : public torch::nn::Module {
 public:
  RelationalInferenceImpl(const RelationalInferenceOptions& options, at::Device device);

  /// Reads by slots [B, C, N] and patterns [B, C, D]: [B, C, D].
  using Read = std::function<at::Tensor(const at::Tensor& slots, const at::Tensor& patterns)>;
  /// questions [B, C, in] -> one logit for each answer, [B, C, V].
  at::Tensor forward(const at::Tensor& questions, const Read& read);

  torch::nn::Sequential entity;         ///< e
  torch::nn::ModuleList relations;      ///< r1, r2, r3
  at::Tensor norm_weight, norm_bias;    ///< [3, D]
  torch::nn::Linear answers = nullptr;  ///< Z [V, D]
};
TORCH_MODULE(RelationalInference);

}  // namespace tessera
