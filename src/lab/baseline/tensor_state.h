#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/memory/stored_pairs.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera {

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

  int64_t rows() const { return parts_.empty() ? 0 : parts_.front().second.size(0); }
  const at::Tensor& part(size_t index) const { return parts_.at(index).second; }

  TensorState select(const std::vector<int64_t>& rows) const;
  static TensorState stack(const std::vector<const TensorState*>& states);
  NamedTensors tensors(const std::string& prefix) const;

 private:
  NamedTensors parts_;
};

}  // namespace tessera
