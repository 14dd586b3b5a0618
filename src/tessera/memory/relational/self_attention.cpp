#include "tessera/memory/relational/self_attention.h"

#include <ATen/ATen.h>

#include "tessera/memory/make_linear.h"

namespace tessera {
namespace {

constexpr double kAttentionNormEpsilon = 1e-5;

}  // namespace

SelfAttentionImpl::SelfAttentionImpl(const TwoMemoryOptions& options, at::Device device)
    : options_(options) {
  const int64_t N = options.slots, D = options.width;
  const bool of_columns = options.equations.projection != MemoryProjection::kRows;
  projection =
      register_module("projection", make_linear(D, 3 * N, /*with_bias=*/of_columns, device));
  std::vector<int64_t> sizes = {D, 3 * N};
  if (options.equations.projection == MemoryProjection::kRows) sizes = {3, D};
  if (options.equations.projection == MemoryProjection::kColumnsNormedAcross) sizes = {3 * N};
  norm_weight = register_parameter("norm_weight", at::ones(sizes, device));
  norm_bias = register_parameter("norm_bias", at::zeros(sizes, device));
}

/// [B, 3N, D]: columns of (M + left ⊗ right) Wᵀ + bias, normalised all together or row by row.
at::Tensor SelfAttentionImpl::columns(const at::Tensor& item, const at::Tensor& left,
                                      const at::Tensor& right) {
  const at::Tensor weight = projection->weight.t();  // [D, 3N]
  at::Tensor all = at::addmm(projection->bias, item.flatten(0, 1), weight)
                       .view({item.size(0), options_.width, 3 * options_.slots});  // [B, D, 3N]
  if (left.defined()) all = at::addcmul(all, left.unsqueeze(2), at::mm(right, weight).unsqueeze(1));
  return at::layer_norm(all, norm_weight.sizes(), norm_weight, norm_bias, kAttentionNormEpsilon)
      .transpose(1, 2);
}

/// [B, 3N, D]: rows of W (M + left ⊗ right), normalised one by one.
at::Tensor SelfAttentionImpl::rows(const at::Tensor& item, const at::Tensor& left,
                                   const at::Tensor& right) {
  const int64_t N = options_.slots, D = options_.width;
  at::Tensor all = at::matmul(projection->weight, item);  // [B, 3N, D]
  if (left.defined())
    all = at::addcmul(all, at::mm(left, projection->weight.t()).unsqueeze(2), right.unsqueeze(1));
  const at::Tensor normal =
      at::layer_norm(all, {D}, {}, {}, kAttentionNormEpsilon).unflatten(1, {3, N});
  return (normal * norm_weight.unsqueeze(1) + norm_bias.unsqueeze(1)).flatten(1, 2);
}

ops::Associations SelfAttentionImpl::forward(const at::Tensor& item, const at::Tensor& left,
                                             const at::Tensor& right) {
  const bool of_columns = options_.equations.projection != MemoryProjection::kRows;
  const at::Tensor all = of_columns ? columns(item, left, right) : rows(item, left, right);
  const auto parts = at::split(all, options_.slots, 1);  // [B, N, D] each
  return ops::self_attentive_memory(parts[0], parts[1], parts[2]);
}

}  // namespace tessera
