#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "tessera/ops/self_attentive_memory.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera {

/// What one step writes into the item memory (Le et al. 2020, eq. 9).
///   kF1F1  f1(x) ⊗ f1(x), the authors' code
///   kF1F2  f1(x) ⊗ f2(x), the paper
enum class WriteProduct { kF1F1, kF1F2 };
constexpr std::array<std::string_view, 2> enum_names(WriteProduct) {
  return {"f1-f1", "f1-f2"};
}

/// How a relational candidate S joins the relational memory R (eq. 12).
///   kDecay    α1 R + S, the authors' code
///   kAdd      R + α1 S, the paper
///   kReplace  S alone, the authors' code for reinforcement learning: R keeps nothing from step to
///             step and is not read; α1 and α2 have no meaning
enum class RelationalWrite { kDecay, kAdd, kReplace };
constexpr std::array<std::string_view, 3> enum_names(RelationalWrite) {
  return {"decay", "add", "replace"};
}

/// How queries, keys and values are taken from the item memory M (eq. 4-6).
///   kColumns  the columns of M Wᵀ + bias, after one layer norm over all of them: the authors' code
///   kRows     the rows of W M, each after a layer norm of its own: the paper
///   kColumnsNormedAcross  the columns of M Wᵀ + bias, after a layer norm of the 3N values of each
///                         row: the authors' code for reinforcement learning
enum class MemoryProjection { kColumns, kRows, kColumnsNormedAcross };
constexpr std::array<std::string_view, 3> enum_names(MemoryProjection) {
  return {"columns", "rows", "columns-normed-across"};
}

/// What is transferred to the item memory (eq. 13).
///   kCandidate  the S of this step, its values along the columns of M: the authors' code
///   kMemory     the R after this step, its values along the rows of M: the paper
enum class TransferSource { kCandidate, kMemory };
constexpr std::array<std::string_view, 2> enum_names(TransferSource) {
  return {"candidate", "memory"};
}

/// The equations of the two-memory model, where the paper and its authors' code differ. The
/// defaults are the code's.
struct TwoMemoryEquations {
  WriteProduct write_product = WriteProduct::kF1F1;
  ops::GateForm gates = ops::GateForm::kSigmoid;
  RelationalWrite relational_write = RelationalWrite::kDecay;
  ops::ReadSide relational_read = ops::ReadSide::kKeys;
  MemoryProjection projection = MemoryProjection::kColumns;
  TransferSource transfer = TransferSource::kCandidate;

  /// Those of the paper.
  static TwoMemoryEquations of_paper() {
    return {WriteProduct::kF1F2,    ops::GateForm::kLinear,  RelationalWrite::kAdd,
            ops::ReadSide::kValues, MemoryProjection::kRows, TransferSource::kMemory};
  }
  /// Those of the code's agent for reinforcement learning.
  static TwoMemoryEquations of_reinforcement() {
    TwoMemoryEquations equations;
    equations.relational_write = RelationalWrite::kReplace;
    equations.projection = MemoryProjection::kColumnsNormedAcross;
    return equations;
  }
  bool operator==(const TwoMemoryEquations&) const = default;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("write_product", write_product, "what a step writes into the item memory");
    field("gates", gates, "form of the item memory's gates");
    field("relational_write", relational_write, "how a candidate joins the relational memory");
    field("relational_read", relational_read, "side of the relational memory that is read by");
    field("projection", projection, "how queries, keys and values are taken");
    field("transfer", transfer, "what is transferred to the item memory");
  }
};

/// A factor α between parts of the two memories: a parameter, or a constant.
struct BlendFactor {
  double value = 0;  ///< the first value of a learned one
  bool learned = true;

  /// Whether what it multiplies need not be computed.
  bool absent() const { return !learned && value == 0; }

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("value", value, "its value, or its first value where it is learned");
    field("learned", learned, "whether it is a parameter");
  }
};

/// The sizes and choices of one cell.
struct TwoMemoryOptions {
  int64_t inputs = 0;  ///< width of x
  int64_t slots = 0;   ///< N: queries, keys and values; matrices of the relational memory
  int64_t width = 0;   ///< D: the item memory is [D, D]
  int64_t projection_hidden = 0;  ///< 0: f1, f2, f3 are single linear maps, else three in a row
  bool gated = true;              ///< whether the item memory has gates (eq. 10 or eq. 9)
  BlendFactor alpha1, alpha2, alpha3;
  TwoMemoryEquations equations;
  ops::Precision precision = ops::Precision::kFloat32;  ///< of products with the gates' and G1

  /// Whether a step reads the relational memory.
  bool reads_relational() const {
    return !alpha2.absent() && equations.relational_write != RelationalWrite::kReplace;
  }
};

/// The item memory M [B, D, D]: an associative memory that each step writes one outer product into,
/// through gates (Le et al. 2020, eq. 9, 10 and appendix D).
/// Differs from the paper with GateForm::kSigmoid: the gates see f1(x), not x, and add it to every
/// row, not to every column; their map U makes tanh(M) Uᵀ, not U tanh(M); they and what is written
/// are squashed; their maps have biases beside the two scalars, of which the forget gate's starts
/// at 1. Without gates there is no squashing either.
class ItemMemoryImpl : public torch::nn::Cloneable<ItemMemoryImpl> {
 public:
  /// Throws UsageError on a width below 1.
  explicit ItemMemoryImpl(const TwoMemoryOptions& options, at::Device device = at::kCPU);
  void reset() final;  ///< for clone(): registers new parameters, as in every memory

  /// What the input adds to the gates, [T, B, 2D]: to every column of the paper's, which see x
  /// [T, B, in], to every row of the code's, which see content [T, B, D], f1(x). Undefined without
  /// gates.
  at::Tensor gate_inputs(const at::Tensor& x, const at::Tensor& content);
  /// One write: memory [B, D, D], left and right [B, D] (the outer product), gate_input [B, 2D] ->
  /// [B, D, D].
  at::Tensor write(const at::Tensor& memory, const at::Tensor& left, const at::Tensor& right,
                   const at::Tensor& gate_input) const;

  torch::nn::Linear input_gate = nullptr;  ///< [2D, in or D]; none without gates, as the next three
  torch::nn::Linear memory_gate = nullptr;  ///< [2D, D]
  at::Tensor input_bias, forget_bias;       ///< scalars
  at::Tensor initial;                       ///< M before the first step, [D, D]

 private:
  TwoMemoryOptions options_;
  at::Device device_;
};
TORCH_MODULE(ItemMemory);

/// Takes N queries, keys and values from a matrix memory and associates each query with all values
/// (Le et al. 2020, eq. 4-8).
class SelfAttentionImpl : public torch::nn::Cloneable<SelfAttentionImpl> {
 public:
  /// Throws UsageError on slots or a width below 1.
  explicit SelfAttentionImpl(const TwoMemoryOptions& options, at::Device device = at::kCPU);
  void reset() final;

  /// SAM(M + left ⊗ right) as its factors: item M [B, D, D], left and right [B, D]; where left is
  /// undefined, SAM(M).
  ops::Associations forward(const at::Tensor& item, const at::Tensor& left,
                            const at::Tensor& right);

  torch::nn::Linear projection = nullptr;  ///< W [3N, D]: queries, keys, values
  at::Tensor norm_weight, norm_bias;       ///< kColumns [D, 3N]; kRows [3, D];
                                           ///< kColumnsNormedAcross [3N]

 private:
  at::Tensor columns(const at::Tensor& item, const at::Tensor& left, const at::Tensor& right);
  at::Tensor rows(const at::Tensor& item, const at::Tensor& left, const at::Tensor& right);

  TwoMemoryOptions options_;
  at::Device device_;
};
TORCH_MODULE(SelfAttention);

/// The parameters of the relational memory R [B, N, D, D] and of its exchange with the item memory
/// (Le et al. 2020, eq. 11-13).
class RelationalMemoryImpl : public torch::nn::Cloneable<RelationalMemoryImpl> {
 public:
  /// Throws UsageError on slots or a width below 1.
  explicit RelationalMemoryImpl(const TwoMemoryOptions& options, at::Device device = at::kCPU);
  void reset() final;

  /// eq. 12 is R_t = decay R_{t-1} + gain S_t: (α1, 1) in the code, (1, α1) in the paper, (0, 1)
  /// with RelationalWrite::kReplace. [1] each.
  at::Tensor decay() const;
  at::Tensor gain() const;
  /// Whether decay() is 0 whatever the parameters are.
  bool forgets() const { return options_.equations.relational_write == RelationalWrite::kReplace; }
  /// One step of eq. 12 for anything that is linear in R.
  at::Tensor blend(const at::Tensor& before, const at::Tensor& candidate) const;

  at::Tensor alpha1, alpha2, alpha3;     ///< [1]: a parameter or a constant
  torch::nn::Linear transfer = nullptr;  ///< G1 [D, N D]; none where α3 is a constant 0
  at::Tensor initial;                    ///< R before the first step, [N, D, D]

 private:
  at::Tensor blend_factor(const std::string& name, const BlendFactor& factor);

  TwoMemoryOptions options_;
  at::Device device_;
};
TORCH_MODULE(RelationalMemory);

class RelationalTrace;

/// What the two memories hold for B sequences side by side; without tensors, of sequences that
/// have not started. A value: a copy is a fork, as no function changes the tensors.
struct TwoMemoryState {
  at::Tensor item;        ///< M [B, D, D]
  at::Tensor relational;  ///< R [B, N, D, D]

  int64_t rows() const { return item.defined() ? item.size(0) : 0; }
  /// The chosen sequences (one may be chosen twice). Throws UsageError on one that does not exist.
  TwoMemoryState select(const std::vector<int64_t>& rows) const;
  /// The sequences of all states, one state after another. Throws UsageError where there is no
  /// state, or one that has not started, and where their sizes differ.
  static TwoMemoryState stack(const std::vector<const TwoMemoryState*>& states);
  /// The same values without their history: gradients end here.
  TwoMemoryState detach() const;
  /// "item_memory" and "relational_memory", for a file; TwoMemoryCell::state_from gives them back.
  NamedTensors tensors(const std::string& prefix = {}) const;
};

/// The two memories and what connects them (Le et al. 2020, eq. 9-13).
class TwoMemoryCellImpl : public torch::nn::Cloneable<TwoMemoryCellImpl> {
 public:
  /// On the meta device the parameters have sizes and no memory. Throws UsageError on sizes
  /// below 1.
  explicit TwoMemoryCellImpl(const TwoMemoryOptions& options, at::Device device = at::kCPU);
  void reset() final;

  /// The learned state before the first step, for B sequences.
  TwoMemoryState initial_state(int64_t B) const;
  /// As TwoMemoryState::tensors gave it. Throws DataError where a tensor is missing or does not fit
  /// the cell.
  TwoMemoryState state_from(const TensorFile& file) const;
  /// Throws UsageError unless the state is one of this cell for B sequences.
  void check_state(const TwoMemoryState& state, int64_t B) const;

  const TwoMemoryOptions& options() const { return options_; }

  torch::nn::Sequential content, pattern, attention;  ///< f1, f2, f3
  ItemMemory item = nullptr;
  SelfAttention self_attention = nullptr;
  RelationalMemory relational = nullptr;

 private:
  TwoMemoryOptions options_;
  at::Device device_;
};
TORCH_MODULE(TwoMemoryCell);

/// One pass of a cell over T steps of B sequences.
class TwoMemoryPass {
 public:
  /// x [T, B, in]; without a state, or with one without tensors, the sequences start. Throws
  /// UsageError where x or the state does not fit the cell.
  TwoMemoryPass(const TwoMemoryCell& cell, const at::Tensor& x,
                const std::optional<TwoMemoryState>& state);
  ~TwoMemoryPass();

  /// Takes the next step; returns the relational candidate S_t. Throws UsageError after T steps.
  ops::Associations step();
  /// R after the steps so far, [B, N, D, D].
  at::Tensor relational_memory();
  /// Both memories after the steps so far.
  TwoMemoryState state() { return {item_, relational_memory()}; }

 private:
  at::Tensor transferred(const ops::Associations& candidate);

  TwoMemoryCell cell_;
  int64_t B_ = 0;
  std::vector<at::Tensor> content_, pattern_;  // f1, f2 of each step: [B, D]
  std::vector<at::Tensor> gate_inputs_;        // [B, 2D] of each step; undefined without gates
  at::Tensor item_;                            // M [B, D, D]
  std::unique_ptr<RelationalTrace> relational_;
  at::Tensor transfer_;  // G1 of R, without its bias, for TransferSource::kMemory: [B or 1, D, D]
  int64_t time_ = 0;
};

}  // namespace tessera
