#pragma once

#include <torch/nn/modules/linear.h>

#include <array>
#include <optional>
#include <string_view>

#include "tessera/memory/relational/two_memory_cell.h"
#include "tessera/model/initialisation.h"
#include "tessera/model/model_kind.h"

namespace tessera {

/// The parameters of a cell that are not linear maps, as the authors: its memories as linear maps
/// of 2D and 2D + N inputs, the forget gate's bias 1, gains 1, factors at their first values, the
/// rest 0.
void initialise_memories(TwoMemoryCell& cell, Initialiser& draw);

/// Whose equations a two-memory model follows where the paper and its authors' code differ
/// (docs/references.md lists the differences). kCustom: those of StmConfig::equations.
/// kReinforcement: those of the code's agent for reinforcement learning, which also normalises what
/// its head reads.
enum class StmVariant { kAuthors, kPaper, kCustom, kReinforcement };
constexpr std::array<std::string_view, 4> enum_names(StmVariant) {
  return {"authors", "paper", "custom", "reinforcement"};
}

struct StmConfig {
  int64_t inputs = 34;
  int64_t outputs = 32;
  int64_t slots = 8;
  int64_t width = 96;
  int64_t distilled = 96;
  int64_t readout = 64;
  int64_t hidden = 128;
  int64_t projection_hidden = 0;
  bool gated = true;
  BlendFactor alpha1 = {}, alpha2 = {}, alpha3 = {};
  StmVariant variant = StmVariant::kAuthors;
  TwoMemoryEquations equations = {};
  ops::Precision precision = ops::Precision::kFloat32;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("inputs", inputs, "width of the input vectors", kSizes);
    field("outputs", outputs, "width of the output vectors", kSizes);
    field("slots", slots, "queries, keys and values; matrices of the relational memory (n_q)",
          kSizes);
    field("width", width, "the memories hold matrices of width x width (d)", kSizes);
    field("distilled", distilled, "width that each relational matrix is distilled to (n_r)",
          kSizes);
    field("readout", readout, "width between distillation and head; not with 'paper'", kSizes);
    field("hidden", hidden, "width of the head's two hidden layers; not with 'paper'", kSizes);
    field("projection_hidden", projection_hidden,
          "0: inputs pass one linear map, else three with this width between them",
          config::between(0, kLargestSize));
    field("gated", gated, "whether the item memory has gates");
    field("alpha1", alpha1, "weight of the relational memory's past ('paper': of its present)");
    field("alpha2", alpha2, "weight of the relational read in the self-attention's input");
    field("alpha3", alpha3, "weight of the transfer to the item memory");
    field("variant", variant, "whose equations it follows");
    field("equations", equations, "for variant = 'custom': each equation by itself");
    field(
        "precision", precision,
        "number format of the products with the gates', the transfer's and the distillation's map");
  }

  /// Throws UsageError that names the field and what it may be.
  void check() const;
  /// What its cell is made with.
  TwoMemoryOptions cell_options() const;
  /// Whether the output passes a head of two hidden layers (all but 'paper').
  bool has_head() const { return variant != StmVariant::kPaper; }
  /// Whether a layer norm stands before the head.
  bool has_head_norm() const { return variant == StmVariant::kReinforcement; }
};

/// The SAM-based two-memory model (Le et al. 2020): sequences of vectors in, vectors out. Its state
/// is a TwoMemoryState. It has no dropout.
class Stm : public SequenceModel {
 public:
  static constexpr std::string_view kKind = "stm";
  using Config = StmConfig;

  /// As ModelKind::make.
  explicit Stm(const StmConfig& config, std::optional<uint64_t> seed = 0,
               at::Device device = at::kCPU);

  std::string_view kind() const override { return kKind; }
  config::Json hyper_parameters() const override;
  const StmConfig& configuration() const { return config_; }

  struct Sequence {
    at::Tensor outputs;    ///< [B, T - first_output, out]
    TwoMemoryState state;  ///< after the last step
  };
  /// x [B, T, in], going on from `state` or, without one or with one without tensors, from the
  /// learned first state; gradients go through the state. Outputs cost two thirds of a step with
  /// one, and are computed from step `first_output` on. Throws UsageError where x, state or
  /// first_output does not fit.
  Sequence run(const at::Tensor& x, const std::optional<TwoMemoryState>& state = {},
               int64_t first_output = 0);

  at::Tensor forward(const at::Tensor& x, std::optional<uint64_t> dropout_seed = {},
                     int64_t first_output = 0) override;
  SequenceState empty_state() const override { return SequenceState(TwoMemoryState()); }
  SequenceOutput read(const at::Tensor& x, SequenceState&& state,
                      int64_t first_output = 0) override;
  SequenceState state_from(const TensorFile& file, const SequenceState& empty) const override;
  void initialise(uint64_t seed) override;

  TwoMemoryCell cell = nullptr;
  torch::nn::Linear distillation = nullptr;     ///< G2 [R, D D], one for all slots
  torch::nn::Linear readout = nullptr;          ///< G3 [readout or out, N R]
  at::Tensor head_norm_weight, head_norm_bias;  ///< [readout], where there is such a norm
  torch::nn::Sequential head;                   ///< two hidden layers and the output; else none

 private:
  /// A pass over x [B, T, in] before its first step.
  TwoMemoryPass begin(const at::Tensor& x, const std::optional<TwoMemoryState>& state);
  /// Takes all its steps; the outputs, [B, T - first_output, out].
  at::Tensor finish(TwoMemoryPass& pass, const at::Tensor& x, int64_t first_output);
  at::Tensor distil_outputs(TwoMemoryPass& pass, int64_t T, int64_t first_output);

  StmConfig config_;
};

/// Its entry in model_kinds(). Format: "sam", of thaihungle/SAM, the authors' code.
ModelKind stm_kind();

}  // namespace tessera
