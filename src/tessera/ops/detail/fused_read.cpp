#include "tessera/ops/detail/fused_read.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "tessera/ops/cpu/softmax_read/softmax_read.h"
#include "tessera/ops/detail/dispatch.h"

namespace tessera::ops {
namespace {

/// Work units to aim for, so that many threads find some: groups of batch rows times heads.
constexpr int64_t kWorkUnits = 32;

/// Groups that B sequences which read the same slots fall into.
int64_t groups_of(int64_t B, int64_t H) {
  const int64_t wanted_groups = std::min(B, (kWorkUnits + H - 1) / H);
  const int64_t group_size = (B + wanted_groups - 1) / wanted_groups;
  return (B + group_size - 1) / group_size;
}

bool are_slots(const at::Tensor& pairs) {
  return pairs.dim() == 3;
}

/// Slots are a sequence of pairs that all batch rows share.
cpu::WeightSequence pairs_of(const at::Tensor& pairs) {
  if (are_slots(pairs))
    return {
        .rows = weight_rows(pairs), .time_stride = pairs.stride(1), .head_stride = pairs.stride(0)};
  return {weight_rows(pairs), pairs.stride(0), pairs.stride(1), pairs.stride(2)};
}

/// Rows contiguous, as are the slopes.
cpu::SoftmaxRead describe(const at::Tensor& queries, const at::Tensor& keys,
                          const at::Tensor& values, const CausalReadOptions& options) {
  return {.B = queries.size(0),
          .T = queries.size(1),
          .H = queries.size(2),
          .D = queries.size(3),
          .N = keys.size(1),
          .queries = sequence_of(queries),
          .keys = pairs_of(keys),
          .values = pairs_of(values),
          .scale = static_cast<float>(options.scale),
          .causal = !are_slots(keys),
          .lag = options.lag,
          .window = options.window,
          .slopes = floats_of(options.alibi_slopes),
          .dropout_seed = options.dropout.seed,
          .dropout_probability = options.dropout.probability};
}

bool rounds(Precision precision) {
  return precision == Precision::kBFloat16 && softmax_reads_round();
}

void save_options(AutogradContext* context, const CausalReadOptions& options) {
  context->saved_data["scale"] = options.scale;
  context->saved_data["lag"] = options.lag;
  context->saved_data["window"] = options.window;
  context->saved_data["precision"] = static_cast<int64_t>(options.precision);
  save_dropout(context, options.dropout);
}

CausalReadOptions saved_options(AutogradContext* context, const at::Tensor& slopes) {
  return {.scale = context->saved_data["scale"].toDouble(),
          .lag = context->saved_data["lag"].toInt(),
          .window = context->saved_data["window"].toInt(),
          .alibi_slopes = slopes,
          .dropout = saved_dropout(context),
          .precision = static_cast<Precision>(context->saved_data["precision"].toInt())};
}

class FusedRead : public torch::autograd::Function<FusedRead> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& queries,
                            const at::Tensor& keys, const at::Tensor& values,
                            CausalReadOptions options) {
    if (options.alibi_slopes.defined()) options.alibi_slopes = options.alibi_slopes.contiguous();
    const at::Tensor q = with_contiguous_rows(queries), k = with_contiguous_rows(keys),
                     v = with_contiguous_rows(values);
    const at::Tensor output = at::empty(q.sizes(), q.options());
    const at::Tensor shifts = at::empty({q.size(0), q.size(2), q.size(1)}, q.options());
    const at::Tensor log_sums = at::empty_like(shifts);
    const cpu::SoftmaxReadForward loop = {describe(q, k, v, options), sequence_of(output),
                                          shifts.data_ptr<float>(), log_sums.data_ptr<float>()};
    if (rounds(options.precision))
      cpu::rounded_softmax_read_forward(loop);
    else
      cpu::softmax_read_forward(loop);
    context->save_for_backward({q, k, v, output, shifts, log_sums, options.alibi_slopes});
    context->saved_data["slots"] = are_slots(keys);
    save_options(context, options);
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list grad_outputs) {
    const bool slots = context->saved_data["slots"].toBool();
    check_differentiated_once(slots ? "slot_read" : "causal_read");
    const auto saved = context->get_saved_variables();
    const at::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &output = saved[3];
    if (q.numel() == 0) return {at::zeros_like(q), at::zeros_like(k), at::zeros_like(v), {}};
    const at::Tensor grad_output = with_contiguous_rows(grad_outputs[0]);
    const int64_t groups = slots ? groups_of(q.size(0), q.size(2)) : q.size(0);
    std::vector<int64_t> sizes = k.sizes().vec();    // [B, N, H, D]
    if (slots) sizes.insert(sizes.begin(), groups);  // [groups, H, N, D]
    const auto by_time = [&](const at::Tensor& gradients) {
      return sequence_of(slots ? gradients.transpose(1, 2) : gradients);
    };
    const at::Tensor grad_queries = at::empty(q.sizes(), q.options());
    const at::Tensor grad_keys = at::empty(sizes, q.options());
    const at::Tensor grad_values = at::empty(sizes, q.options());
    const CausalReadOptions options = saved_options(context, saved[6]);
    const cpu::SoftmaxReadBackward loop = {.read = describe(q, k, v, options),
                                           .output = sequence_of(output),
                                           .shifts = floats_of(saved[4]),
                                           .log_sums = floats_of(saved[5]),
                                           .grad_output = sequence_of(grad_output),
                                           .groups = groups,
                                           .grad_queries = sequence_of(grad_queries),
                                           .grad_keys = by_time(grad_keys),
                                           .grad_values = by_time(grad_values)};
    if (rounds(options.precision))
      cpu::rounded_softmax_read_backward(loop);
    else
      cpu::softmax_read_backward(loop);
    if (slots) return {grad_queries, grad_keys.sum(0), grad_values.sum(0), {}};
    return {grad_queries, grad_keys, grad_values, {}};
  }
};

}  // namespace

at::Tensor fused_read(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                      const CausalReadOptions& options) {
  return FusedRead::apply(queries, keys, values, options);
}

}  // namespace tessera::ops
