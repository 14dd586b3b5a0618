#include "tessera/ops/causal_read.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <limits>

#include "tessera/ops/detail/dispatch.h"
#include "tessera/ops/detail/rounded_matmul.h"

namespace tessera::ops {
namespace {

CausalReading composed(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                       const CausalReadOptions& options) {
  const int64_t B = queries.size(0), T = queries.size(1), H = queries.size(2), D = queries.size(3);
  const int64_t first = std::clamp<int64_t>(options.lag, 0, T);  // no query before it has pairs
  const at::Tensor q = queries.narrow(1, first, T - first).transpose(1, 2);  // [B, H, rows, D]
  const at::Tensor k = keys.transpose(1, 2), v = values.transpose(1, 2);     // [B, H, N, D]
  at::Tensor scores = rounded_matmul(q * options.scale, k.transpose(2, 3),
                                     options.precision);  // [B, H, rows, N]
  const auto plain = q.options().requires_grad(false);
  const at::Tensor distances =
      at::arange(first, T, plain).unsqueeze(1) - at::arange(keys.size(1), plain);  // t - i
  if (options.alibi_slopes.defined())
    scores = scores - options.alibi_slopes.view({-1, 1, 1}) * distances;
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  scores = scores.masked_fill(distances < options.lag, kNothing);
  at::Tensor weights = scores.softmax(-1);
  if (options.dropout.probability > 0)
    weights = weights *
              dropout_factors(options.dropout, B, H, first, T - first, keys.size(1), q.options());
  const at::Tensor read = rounded_matmul(weights, v, options.precision).transpose(1, 2);
  return {at::cat({at::zeros({B, first, H, D}, q.options()), read}, 1),
          at::cat({at::full({B, H, first}, kNothing, plain), scores.logsumexp(-1)}, 2)};
}

cpu::SoftmaxRead describe(const at::Tensor& queries, const at::Tensor& keys,
                          const at::Tensor& values, const CausalReadOptions& options) {
  cpu::SoftmaxRead read;
  read.B = queries.size(0);
  read.T = queries.size(1);
  read.N = keys.size(1);
  read.H = queries.size(2);
  read.D = queries.size(3);
  read.queries = sequence_of(queries);
  read.keys = sequence_of(keys);
  read.values = sequence_of(values);
  read.scale = static_cast<float>(options.scale);
  read.causal = true;
  read.lag = options.lag;
  read.slopes = options.alibi_slopes.defined() ? options.alibi_slopes.data_ptr<float>() : nullptr;
  read.dropout_seed = options.dropout.seed;
  read.dropout_probability = options.dropout.probability;
  return read;
}

void save_options(torch::autograd::AutogradContext* context, const CausalReadOptions& options) {
  context->saved_data["scale"] = options.scale;
  context->saved_data["lag"] = options.lag;
  context->saved_data["probability"] = options.dropout.probability;
  context->saved_data["precision"] = static_cast<int64_t>(options.precision);
  context->saved_data["seed"] = static_cast<int64_t>(options.dropout.seed);
}

CausalReadOptions saved_options(torch::autograd::AutogradContext* context,
                                const at::Tensor& slopes) {
  CausalReadOptions options;
  options.scale = context->saved_data["scale"].toDouble();
  options.lag = context->saved_data["lag"].toInt();
  options.alibi_slopes = slopes;
  options.dropout = {context->saved_data["probability"].toDouble(),
                     static_cast<uint64_t>(context->saved_data["seed"].toInt())};
  options.precision = static_cast<Precision>(context->saved_data["precision"].toInt());
  return options;
}

/// Rows contiguous, as are the slopes.
CausalReading fused(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                    const CausalReadOptions& options) {
  const CausalReading reading = {
      at::empty(queries.sizes(), queries.options()),
      at::empty({queries.size(0), queries.size(2), queries.size(1)}, queries.options())};
  read_loops(options.precision)
      .forward({describe(queries, keys, values, options), sequence_of(reading.values),
                reading.log_sums.data_ptr<float>()});
  return reading;
}

class FusedCausalRead : public torch::autograd::Function<FusedCausalRead> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& queries,
                            const at::Tensor& keys, const at::Tensor& values,
                            CausalReadOptions options) {
    if (options.alibi_slopes.defined()) options.alibi_slopes = options.alibi_slopes.contiguous();
    const at::Tensor q = with_contiguous_rows(queries), k = with_contiguous_rows(keys),
                     v = with_contiguous_rows(values);
    const auto [output, log_sums] = fused(q, k, v, options);
    context->save_for_backward({q, k, v, output, log_sums, options.alibi_slopes});
    save_options(context, options);
    return output;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grad_outputs) {
    check_differentiated_once("causal_read");
    const auto saved = context->get_saved_variables();
    const at::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &output = saved[3];
    const at::Tensor grad_output = with_contiguous_rows(grad_outputs[0]);
    const at::Tensor grad_queries = at::empty(q.sizes(), q.options());
    const at::Tensor grad_keys = at::empty(k.sizes(), k.options());
    const at::Tensor grad_values = at::empty(v.sizes(), v.options());
    cpu::SoftmaxReadBackward loop;
    const CausalReadOptions options = saved_options(context, saved[5]);
    loop.read = describe(q, k, v, options);
    loop.output = sequence_of(output);
    loop.log_sums = saved[4].data_ptr<float>();
    loop.grad_output = sequence_of(grad_output);
    loop.groups = q.size(0);
    loop.grad_queries = sequence_of(grad_queries);
    loop.grad_keys = sequence_of(grad_keys);
    loop.grad_values = sequence_of(grad_values);
    if (q.numel() > 0) read_loops(options.precision).backward(loop);
    return {grad_queries, grad_keys, grad_values, {}};
  }
};

}  // namespace

at::Tensor causal_read(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                       const CausalReadOptions& options) {
  if (loops_for({queries, keys, values, options.alibi_slopes}))
    return FusedCausalRead::apply(queries, keys, values, options);
  return composed(queries, keys, values, options).values;
}

CausalReading causal_reading(const at::Tensor& queries, const at::Tensor& keys,
                             const at::Tensor& values, const CausalReadOptions& options) {
  const at::NoGradGuard no_grad;
  if (loops_for({queries, keys, values, options.alibi_slopes}))
    return fused(with_contiguous_rows(queries), with_contiguous_rows(keys),
                 with_contiguous_rows(values), options);
  return composed(queries, keys, values, options);
}

at::Tensor joined(const CausalReading& a, const CausalReading& b) {
  const at::Tensor share =
      (a.log_sums - b.log_sums).sigmoid().transpose(1, 2).unsqueeze(-1);  // [B, T, H, 1]
  return share * a.values + (1 - share) * b.values;
}

}  // namespace tessera::ops
