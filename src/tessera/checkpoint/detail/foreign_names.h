#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/model/model_kind.h"

namespace tessera {

/// One foreign tensor that holds an own parameter or, for kSlotsApart, a part of it.
struct ForeignTensor {
  std::string name;  ///< without the format's prefix
  std::vector<int64_t> shape;
  TensorForm form;
  int64_t part = 0;            ///< for kSlotsApart: which of the P memories
  bool repeats_other = false;  ///< a tied copy of a tensor named before
  bool never_prefixed = false;
};

/// The foreign tensors that hold the own parameter of this name and shape, by the format's table of
/// names.
std::vector<ForeignTensor> foreign_tensors(const WeightFormat& format, const std::string& own_name,
                                           const std::vector<int64_t>& shape);

/// The own shape behind a foreign one of the form's rank; for kSlotsApart that of one part.
std::vector<int64_t> own_shape(TensorForm form, const std::vector<int64_t>& shape);

/// Whether a foreign name (without prefix) is that of a buffer.
bool is_buffer(const WeightFormat& format, std::string_view name);

/// An own tensor, or the part that the foreign one holds, seen in the foreign form.
at::Tensor in_form(const at::Tensor& own, const ForeignTensor& foreign);

}  // namespace tessera
