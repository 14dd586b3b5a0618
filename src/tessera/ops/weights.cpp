#include "tessera/ops/weights.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <vector>

#include "tessera/ops/cpu/int8/int8_products.h"
#include "tessera/ops/detail/dispatch.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

constexpr double kLargest = 127;

/// sizes with another last one.
std::vector<int64_t> with_last(at::IntArrayRef sizes, int64_t last) {
  std::vector<int64_t> result = sizes.vec();
  result.back() = last;
  return result;
}

/// [.., columns] -> [.., blocks, kWeightBlock], zeros behind the columns.
at::Tensor in_blocks(const at::Tensor& rows) {
  const int64_t columns = rows.size(-1), blocks = weight_blocks(columns);
  return at::constant_pad_nd(rows, {0, blocks * kWeightBlock - columns})
      .unflatten(-1, {blocks, kWeightBlock});
}

/// Floats that are no less than x >= 0 and whose lower halves are zero, as bfloat16.
at::Tensor rounded_up(const at::Tensor& x) {
  const at::Tensor bits = x.contiguous().view(at::kInt);
  return bits.add(0xffff)
      .bitwise_right_shift(16)
      .bitwise_left_shift(16)
      .view(at::kFloat)
      .to(at::kBFloat16);
}

/// What stored_as() makes of float matrices.
Int8Weights rounded_to_int8(const at::Tensor& weight) {
  const at::NoGradGuard no_grad;
  const at::Tensor blocks = in_blocks(weight.detach());
  const at::Tensor largest = blocks.abs().amax(-1);  // [.., rows, blocks]
  TESSERA_CHECK(largest.isfinite().all().item<bool>(),
                "stored_as: weights that are NaN or infinite");
  const at::Tensor scales = rounded_up(largest / kLargest);
  const at::Tensor divisors = scales.to(at::kFloat).unsqueeze(-1);
  const at::Tensor values =
      at::where(divisors > 0, blocks / divisors, at::zeros({}, divisors.options())).round();
  return {values.clamp(-kLargest, kLargest)
              .to(at::kChar)
              .flatten(-2)
              .narrow(-1, 0, weight.size(-1))
              .contiguous(),
          scales};
}

void check_packed(const at::Tensor& weight, int64_t columns, const char* what) {
  TESSERA_CHECK(weight.dim() >= 2 && weight.scalar_type() == at::kChar &&
                    weight.size(-1) == int8_row_bytes(columns),
                what, ": ", weight.sizes(), " of ", weight.scalar_type(),
                "; expected Char rows of ", int8_row_bytes(columns), " bytes for ", columns,
                " columns");
}

/// Weights of 8 bits on the CPU.
at::Tensor widened(const at::Tensor& weight, int64_t columns) {
  const at::Tensor rows = weight.contiguous();
  const at::Tensor floats =
      at::empty(with_last(weight.sizes(), columns), weight.options().dtype(at::kFloat));
  cpu::widen_weights({.rows = rows.numel() / std::max<int64_t>(weight.size(-1), 1),
                      .columns = columns,
                      .weight = rows.data_ptr<int8_t>(),
                      .floats = floats.data_ptr<float>()});
  return floats;
}

}  // namespace

WeightType weight_type(const at::Tensor& weight) {
  if (weight.scalar_type() == at::kChar) return WeightType::kInt8;
  return weight.scalar_type() == at::kBFloat16 ? WeightType::kBFloat16 : WeightType::kFloat32;
}

at::Tensor packed(const Int8Weights& weights) {
  const auto& [values, scales] = weights;
  TESSERA_CHECK(values.dim() >= 2 && values.scalar_type() == at::kChar &&
                    scales.scalar_type() == at::kBFloat16 &&
                    scales.sizes() == with_last(values.sizes(), weight_blocks(values.size(-1))),
                "packed: values ", values.sizes(), " of ", values.scalar_type(), " and scales ",
                scales.sizes(), " of ", scales.scalar_type(),
                "; expected Char [.., rows, columns] and a BFloat16 scale for every ", kWeightBlock,
                " columns");
  return at::cat({in_blocks(values).flatten(-2), scales.contiguous().view(at::kChar)}, -1);
}

Int8Weights unpacked(const at::Tensor& weight, int64_t columns) {
  check_packed(weight, columns, "unpacked");
  const int64_t blocks = weight_blocks(columns);
  const at::Tensor scale_bytes = weight.narrow(-1, blocks * kWeightBlock, 2 * blocks).contiguous();
  return {weight.narrow(-1, 0, columns).contiguous(), scale_bytes.view(at::kBFloat16)};
}

at::Tensor as_floats(const at::Tensor& weight, int64_t columns) {
  if (weight_type(weight) == WeightType::kInt8) {
    check_packed(weight, columns, "as_floats");
    if (weight.is_cpu() && loops_run({})) return widened(weight, columns);
    const auto [values, scales] = unpacked(weight, columns);
    return (in_blocks(values.to(at::kFloat)) * scales.to(at::kFloat).unsqueeze(-1))
        .flatten(-2)
        .narrow(-1, 0, columns)
        .contiguous();
  }
  TESSERA_CHECK(weight.dim() >= 2 && weight.size(-1) == columns, "as_floats: a matrix ",
                weight.sizes(), "; expected ", columns, " columns");
  return weight_type(weight) == WeightType::kBFloat16 ? weight.to(at::kFloat) : weight;
}

at::Tensor stored_as(const at::Tensor& weight, WeightType type) {
  TESSERA_CHECK(weight.defined() && weight.dim() >= 2 && weight.scalar_type() == at::kFloat,
                "stored_as: expected float matrices [.., rows, columns]");
  if (type == WeightType::kInt8) return packed(rounded_to_int8(weight));
  return type == WeightType::kBFloat16 ? weight.detach().to(at::kBFloat16) : weight;
}

at::Tensor embedding_rows(const at::Tensor& table, const at::Tensor& ids, int64_t columns) {
  if (weight_type(table) == WeightType::kFloat32) return at::embedding(table, ids);
  const at::Tensor rows = as_floats(table.index_select(0, ids.flatten()), columns);
  std::vector<int64_t> sizes = ids.sizes().vec();
  sizes.push_back(columns);
  return rows.view(sizes);
}

}  // namespace tessera::ops
