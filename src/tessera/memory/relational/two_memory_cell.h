#pragma once

#include <torch/nn/modules/container/sequential.h>

#include <memory>
#include <optional>

#include "tessera/memory/relational/item_memory.h"
#include "tessera/memory/relational/relational_memory.h"
#include "tessera/memory/relational/self_attention.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera {

class RelationalTrace;

/// What the two memories hold for B sequences side by side; without tensors, of sequences that
/// have not started. A value: a copy is a fork, as no function changes the tensors.
struct TwoMemoryState {
  at::Tensor item;        ///< M [B, D, D]
  at::Tensor relational;  ///< R [B, N, D, D]

  int64_t rows() const { return item.defined() ? item.size(0) : 0; }
  /// The chosen sequences (one may be chosen twice).
  TwoMemoryState select(const std::vector<int64_t>& rows) const;
  /// The sequences of all states, one state after another.
  static TwoMemoryState stack(const std::vector<const TwoMemoryState*>& states);
  /// The same values without their history: gradients end here.
  TwoMemoryState detach() const;
  /// "item_memory" and "relational_memory", for a file; TwoMemoryCell::state_from gives them back.
  NamedTensors tensors(const std::string& prefix = {}) const;
};

/// The two memories and what connects them (Le et al. 2020, eq. 9-13).
class TwoMemoryCellImpl : public torch::nn::Module {
 public:
  /// On the meta device the parameters have sizes and no memory.
  TwoMemoryCellImpl(const TwoMemoryOptions& options, at::Device device);

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
};
TORCH_MODULE(TwoMemoryCell);

/// One pass of a cell over T steps of B sequences.
class TwoMemoryPass {
 public:
  /// x [T, B, in]; without a state the sequences start. Throws UsageError where x or the state
  /// does not fit the cell.
  TwoMemoryPass(const TwoMemoryCell& cell, const at::Tensor& x,
                const std::optional<TwoMemoryState>& state);
  ~TwoMemoryPass();

  /// Takes the next step; returns the relational candidate S_t. To be called T times.
  ops::Associations step();
  /// R after the steps so far, [B, N, D, D].
  at::Tensor relational_memory();
  TwoMemoryState state();

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
