#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/memory/stored_pairs.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera {

/// A tensor of a state, as one sequence has it.
struct StatePart {
  std::string name;
  std::vector<int64_t> sizes;  ///< one may be -1: any
  bool learned = true;  ///< of a RecurrentNetwork: whether its first value is a parameter, or 0
  at::ScalarType type = at::kFloat;  ///< in a file
};
using StateParts = std::vector<StatePart>;

/// The state of a recurrent network: named tensors whose rows (dimension 0) are sequences. Nobody
/// writes into the tensors, so copies of a state share them.
class TensorState {
 public:
  /// A state that has read nothing.
  TensorState() = default;
  explicit TensorState(NamedTensors parts) : parts_(std::move(parts)) {}
  /// The same of a block; it stores no pairs.
  explicit TensorState(const PairOptions&) {}
  PairOptions options() const { return {}; }
  /// What a file has under these names behind `prefix`. Throws DataError on other sizes.
  static TensorState from(const TensorFile& file, const StateParts& parts,
                          const std::string& prefix = "");

  int64_t rows() const { return parts_.empty() ? 0 : parts_.front().second.size(0); }
  const at::Tensor& part(size_t index) const { return parts_.at(index).second; }
  std::vector<at::Tensor> values() const;
  /// Throws UsageError where something was read, unless it has these parts for `batch` sequences.
  /// kind: of the model, for messages.
  void check(const StateParts& parts, int64_t batch, std::string_view kind) const;

  TensorState select(const std::vector<int64_t>& rows) const;
  static TensorState stack(const std::vector<const TensorState*>& states);
  NamedTensors tensors(const std::string& prefix) const;

 private:
  NamedTensors parts_;
};

}  // namespace tessera
