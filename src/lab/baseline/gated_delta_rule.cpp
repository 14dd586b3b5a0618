#include "lab/baseline/gated_delta_rule.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

/// One chunk; q, k [B, H, T, D], v [B, H, T, E], log_decays, rates [B, H, T].
///
/// With G_t the product of the decays of the chunk up to t, S_t = G_t S_0 + sum_{i <= t}
/// (G_t / G_i) k_i u_i^T, where u_t = beta_t (v_t - (alpha_t S_{t-1})^T k_t) is what step t adds:
///   u_t + beta_t sum_{i < t} (G_t / G_i) (k_t . k_i) u_i = beta_t (v_t - G_t S_0^T k_t),
/// a triangular system.
Retained delta_chunk(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decays, const at::Tensor& rates,
                     const at::Tensor& state) {
  const at::Tensor log_products = log_decays.cumsum(2).unsqueeze(3);  // [B, H, T, 1]
  const at::Tensor since_start = log_products.exp(), beta = rates.unsqueeze(3);
  const at::Tensor ratios =                                                     // G_t / G_i
      (log_products - log_products.transpose(2, 3)).clamp_max(0).exp().tril();  // [B, H, T, T]
  const at::Tensor keys_t = k.transpose(2, 3), until_end = ratios.select(2, -1).unsqueeze(3);
  const at::Tensor lower = (beta * at::matmul(k, keys_t) * ratios).tril(-1);
  const at::Tensor wanted = beta * (v - since_start * at::matmul(k, state));  // [B, H, T, E]
  const at::Tensor added = at::linalg_solve_triangular(lower, wanted, /*upper=*/false,
                                                       /*left=*/true, /*unitriangular=*/true);
  const at::Tensor reads =
      at::matmul(at::matmul(q, keys_t) * ratios, added) + since_start * at::matmul(q, state);
  return {reads, since_start.narrow(2, -1, 1) * state + at::matmul(keys_t, until_end * added)};
}

}  // namespace

Retained gated_delta_rule(const at::Tensor& queries, const at::Tensor& keys,
                          const at::Tensor& values, const at::Tensor& log_decays,
                          const at::Tensor& rates, const at::Tensor& state, int64_t chunk) {
  check_sequence(queries, "gated_delta_rule: queries");
  const int64_t B = queries.size(0), T = queries.size(1), H = queries.size(2), D = queries.size(3);
  check_sequence(values, "gated_delta_rule: values");
  const int64_t E = values.size(3);
  check_like(keys, {B, T, H, D}, queries, "gated_delta_rule: keys");
  check_like(values, {B, T, H, E}, queries, "gated_delta_rule: values");
  check_like(log_decays, {B, T, H}, queries, "gated_delta_rule: log_decays");
  check_like(rates, {B, T, H}, queries, "gated_delta_rule: rates");
  if (state.defined()) check_like(state, {B, H, D, E}, queries, "gated_delta_rule: state");
  TESSERA_CHECK(chunk >= 1, "gated_delta_rule: chunk is ", chunk, ", expected 1 or more");

  at::Tensor retained = state.defined() ? state : at::zeros({B, H, D, E}, values.options());
  std::vector<at::Tensor> reads = {at::zeros({B, H, 0, E}, values.options())};
  for (int64_t first = 0; first < T; first += chunk) {
    const auto part = [&](const at::Tensor& x) {
      return x.narrow(1, first, std::min(chunk, T - first)).transpose(1, 2);
    };
    Retained next = delta_chunk(part(queries), part(keys), part(values), part(log_decays),
                                part(rates), retained);
    reads.push_back(std::move(next.reads));
    retained = std::move(next.state);
  }
  return {at::cat(reads, 2).transpose(1, 2), retained};
}

}  // namespace tessera::ops
