#include "lab/baseline/retention.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

/// One chunk; q, k [B, H, T, D], v [B, H, T, E], log_decays [H, 1, 1] -> reads [B, H, T, E].
Retained read_chunk(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                    const at::Tensor& log_decays, const at::Tensor& state) {
  const at::Tensor steps = at::arange(q.size(2), log_decays.options());           // [T]
  const at::Tensor distances = steps.unsqueeze(1) - steps;                        // [T, T], t - i
  const at::Tensor factors = (distances.clamp_min(0) * log_decays).exp().tril();  // [H, T, T]
  const at::Tensor since_start = ((steps + 1).unsqueeze(1) * log_decays).exp();   // [H, T, 1]
  const at::Tensor until_end = (distances.select(0, -1).unsqueeze(1) * log_decays).exp();
  const at::Tensor inner = at::matmul(at::matmul(q, k.transpose(2, 3)) * factors, v);
  const at::Tensor earlier = at::matmul(q * since_start, state);
  const at::Tensor whole = (log_decays * static_cast<double>(q.size(2))).exp();
  return {inner + earlier, whole * state + at::matmul((k * until_end).transpose(2, 3), v)};
}

}  // namespace

void check_chunks(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                  const at::Tensor& state, int64_t chunk, const std::string& op) {
  check_sequence(queries, op + ": queries");
  const int64_t B = queries.size(0), T = queries.size(1), H = queries.size(2), D = queries.size(3);
  check_sequence(values, op + ": values");
  const int64_t E = values.size(3);
  check_like(keys, {B, T, H, D}, queries, op + ": keys");
  check_like(values, {B, T, H, E}, queries, op + ": values");
  if (state.defined()) check_like(state, {B, H, D, E}, queries, op + ": state");
  TESSERA_CHECK(chunk >= 1, op, ": chunk is ", chunk, ", expected 1 or more");
}

Retained read_in_chunks(
    const at::Tensor& queries, const at::Tensor& values, const at::Tensor& state, int64_t chunk,
    const std::function<Retained(const StepsOfChunk& steps, const at::Tensor& state)>& read) {
  const int64_t B = queries.size(0), T = queries.size(1), H = queries.size(2), D = queries.size(3);
  const int64_t E = values.size(3);
  at::Tensor retained = state.defined() ? state : at::zeros({B, H, D, E}, values.options());
  std::vector<at::Tensor> reads = {at::zeros({B, H, 0, E}, values.options())};
  for (int64_t first = 0; first < T; first += chunk) {
    const auto steps = [&](const at::Tensor& x) {
      return x.narrow(1, first, std::min(chunk, T - first)).transpose(1, 2);
    };
    Retained next = read(steps, retained);
    reads.push_back(std::move(next.reads));
    retained = std::move(next.state);
  }
  return {at::cat(reads, 2).transpose(1, 2), retained};
}

Retained retention(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                   const at::Tensor& decays, const at::Tensor& state, int64_t chunk) {
  check_chunks(queries, keys, values, state, chunk, "retention");
  const int64_t H = queries.size(2);
  check_like(decays, {H}, queries, "retention: decays");
  TESSERA_CHECK(!decays.requires_grad(),
                "retention: decays are constants, but require a gradient; detach() them");
  const at::Tensor log_decays = decays.log().view({H, 1, 1});
  return read_in_chunks(
      queries, values, state, chunk, [&](const StepsOfChunk& steps, const at::Tensor& before) {
        return read_chunk(steps(queries), steps(keys), steps(values), log_decays, before);
      });
}

}  // namespace tessera::ops
