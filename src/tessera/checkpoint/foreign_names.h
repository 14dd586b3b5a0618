#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/checkpoint/foreign_weights.h"

namespace tessera {

/// How a foreign tensor lies in memory, seen from our own parameter.
enum class TensorForm {
  kSame,
  kTransposed,   ///< [out, in] <-> [in, out]; vectors stay
  kConvolution,  ///< [out, in] <-> [out, in, 1]; vectors stay
  kPerHead,      ///< [H] <-> [1, H, 1, 1]
  kSlots,        ///< [P, H, M, D] <-> [P, 1, H, M, D]
  kSlotsApart    ///< [P, H, M, D] <-> P tensors [1, H, M, D]
};

/// One foreign tensor that holds an own parameter or, for kSlotsApart, a part of it.
struct ForeignTensor {
  std::string name;  ///< without the format's prefix
  std::vector<int64_t> shape;
  TensorForm form;
  int64_t part = 0;            ///< for kSlotsApart: which of the P memories
  bool repeats_other = false;  ///< a tied copy of a tensor named before
};

/// The foreign tensors that hold the own parameter of this name and shape, by the format's table of
/// names.
std::vector<ForeignTensor> foreign_tensors(ForeignKind kind, const std::string& own_name,
                                           const std::vector<int64_t>& shape);

/// Whether a foreign name (without prefix) is a buffer and no parameter.
bool is_buffer(ForeignKind kind, std::string_view name);

/// An own tensor in a foreign form, and back into the (part of the) own tensor `destination`.
at::Tensor to_form(const at::Tensor& own, const ForeignTensor& foreign);
void copy_from_form(const at::Tensor& foreign_values, const ForeignTensor& foreign,
                    const at::Tensor& destination);

}  // namespace tessera
