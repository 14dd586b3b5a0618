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

void check_matrices(const at::Tensor& weight, const char* what) {
  TESSERA_CHECK(weight.defined() && weight.dim() >= 2 && weight.scalar_type() == at::kFloat, what,
                ": expected float matrices [.., rows, columns]");
}

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

Int8Weights rounded_to_int8(const at::Tensor& weight) {
  check_matrices(weight, "rounded_to_int8");
  const at::NoGradGuard no_grad;
  const at::Tensor blocks = in_blocks(weight.detach());
  const at::Tensor largest = blocks.abs().amax(-1);  // [.., rows, blocks]
  TESSERA_CHECK(largest.isfinite().all().item<bool>(),
                "rounded_to_int8: weights that are NaN or infinite");
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

at::Tensor as_multiplied_by(const at::Tensor& x, const at::Tensor& weight) {
  return weight.scalar_type() == x.scalar_type() ? weight : as_floats(weight, x.size(-1));
}

at::Tensor stored_as(const at::Tensor& weight, WeightType type) {
  check_matrices(weight, "stored_as");
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

void check_weight(const at::Tensor& weight, std::initializer_list<int64_t> sizes,
                  const at::Tensor& x, const char* what) {
  const bool fewer_bits = weight.defined() && x.scalar_type() == at::kFloat &&
                          weight_type(weight) != WeightType::kFloat32;
  if (!fewer_bits) return check_like(weight, sizes, x, what);
  const bool int8 = weight_type(weight) == WeightType::kInt8;
  std::vector<int64_t> stored(sizes);
  if (int8 && stored.back() >= 0) stored.back() = int8_row_bytes(stored.back());
  TESSERA_CHECK(sizes_fit(weight.sizes(), stored) && weight.device() == x.device(), what, " is ",
                weight.scalar_type(), " ", weight.sizes(), " on ", weight.device(), ", expected ",
                at::IntArrayRef(stored), int8 ? " (bytes of its rows with their scales)" : "",
                " on ", x.device());
}

}  // namespace tessera::ops
