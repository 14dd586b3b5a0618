#include "tessera/ops/key_value_extraction.h"

#include <ATen/ATen.h>

#include <cmath>

#include "tessera/ops/cpu/key_value_extraction.h"
#include "tessera/ops/detail/dispatch.h"
#include "tessera/ops/linear.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

// Leaky averages have a gain and a decay [B, T, H] or, without a gain, one decay [H] for all times.

/// Doubling: after the pass with reach s, y_t holds the terms of the last 2s inputs, and the decay
/// of step t is the product of the last 2s decays.
at::Tensor composed_leaky_average(const at::Tensor& x, const at::Tensor& gain,
                                  const at::Tensor& decay, const at::Tensor& initial) {
  const int64_t T = x.size(1);
  const bool gated = gain.defined();
  at::Tensor decays = gated ? decay.unsqueeze(-1) : decay.view({1, 1, -1, 1});
  at::Tensor y = gated ? gain.unsqueeze(-1) * x : x;
  if (T == 0) return y + decays * initial.unsqueeze(1);
  y = at::cat(
      {y.narrow(1, 0, 1) + decays.narrow(1, 0, 1) * initial.unsqueeze(1), y.narrow(1, 1, T - 1)},
      1);
  for (int64_t reach = 1; reach < T; reach *= 2) {
    const at::Tensor later = gated ? decays.narrow(1, reach, T - reach) : decays;
    const auto with_first = [&](const at::Tensor& all, const at::Tensor& rest) {
      return at::cat({all.narrow(1, 0, reach), rest}, 1);
    };
    y = with_first(y, y.narrow(1, reach, T - reach) + later * y.narrow(1, 0, T - reach));
    decays = gated ? with_first(decays, later * decays.narrow(1, 0, T - reach))
                   : decay.view({1, 1, -1, 1}).pow(2 * reach);
  }
  return y;
}

/// The gain counts only where it is gated.
class FusedLeakyAverage : public torch::autograd::Function<FusedLeakyAverage> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& gain,
                            const at::Tensor& decay, const at::Tensor& initial, bool gated) {
    const at::Tensor rows = with_contiguous_rows(x), start = initial.contiguous();
    const at::Tensor gains = gated ? gain.contiguous() : at::Tensor();
    const at::Tensor decays = decay.contiguous();
    const at::Tensor y = at::empty(x.sizes(), x.options());
    (gated ? cpu::gated_leaky_average : cpu::leaky_average)({.x = sequence_of(rows),
                                                             .gain = floats_of(gains),
                                                             .decay = floats_of(decays),
                                                             .initial = floats_of(start),
                                                             .y = sequence_of(y)});
    context->save_for_backward({gated ? rows : at::Tensor(), gains, decays, start, y});
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list grad_outputs) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &gain = saved[1], &decay = saved[2], &initial = saved[3],
                     &y = saved[4];
    const bool gated = gain.defined();
    check_differentiated_once(gated ? "gated_leaky_average" : "leaky_average");
    const at::Tensor grad_y = with_contiguous_rows(grad_outputs[0]);
    const at::Tensor grad_x = at::empty(y.sizes(), y.options());
    const at::Tensor grad_gain = gated ? at::empty_like(gain) : gain;
    const at::Tensor grad_decay =
        gated ? at::empty_like(decay) : at::empty({y.size(0), y.size(2)}, y.options());
    const at::Tensor grad_initial = at::empty_like(initial);
    const auto& loop = gated ? cpu::gated_leaky_average_gradient : cpu::leaky_average_gradient;
    loop({.x = gated ? sequence_of(x) : cpu::Sequence(),
          .gain = floats_of(gain),
          .decay = floats_of(decay),
          .initial = floats_of(initial),
          .y = sequence_of(y),
          .grad_y = sequence_of(grad_y),
          .grad_x = sequence_of(grad_x),
          .grad_gain = gated ? grad_gain.data_ptr<float>() : nullptr,
          .grad_decay = grad_decay.data_ptr<float>(),
          .grad_initial = grad_initial.data_ptr<float>()});
    return {grad_x, grad_gain, gated ? grad_decay : grad_decay.sum(0), grad_initial, {}};
  }
};

at::Tensor averaged(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& decay,
                    const at::Tensor& initial) {
  const bool gated = gain.defined();
  if (loops_run({x, gain, decay, initial}))
    return FusedLeakyAverage::apply(x, gated ? gain : decay, decay, initial, gated);
  return composed_leaky_average(x, gain, decay, initial);
}

at::Tensor composed_peek_average(const at::Tensor& x, const at::Tensor& mix) {
  const int64_t T = x.size(1);
  const at::Tensor head_mix = mix.view({-1, 1});  // [H, 1]
  if (T == 0) return x * head_mix;
  const at::Tensor next = at::cat(
      {x.narrow(1, 1, T - 1), at::zeros({x.size(0), 1, x.size(2), x.size(3)}, x.options())}, 1);
  return head_mix * x + (1 - head_mix) * next;
}

class FusedPeekAverage : public torch::autograd::Function<FusedPeekAverage> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& mix) {
    const at::Tensor rows = with_contiguous_rows(x), mixs = mix.contiguous();
    const at::Tensor y = at::empty(x.sizes(), x.options());
    cpu::peek_average({.x = sequence_of(rows), .mix = floats_of(mixs), .y = sequence_of(y)});
    context->save_for_backward({rows, mixs});
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list grad_outputs) {
    check_differentiated_once("peek_average");
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &mix = saved[1];
    const at::Tensor grad_y = with_contiguous_rows(grad_outputs[0]);
    const at::Tensor grad_x = at::empty(x.sizes(), x.options());
    const at::Tensor grad_mix = at::empty({x.size(0), x.size(2)}, x.options());
    cpu::peek_average_gradient({.x = sequence_of(x),
                                .mix = floats_of(mix),
                                .grad_y = sequence_of(grad_y),
                                .grad_x = sequence_of(grad_x),
                                .grad_mix = grad_mix.data_ptr<float>()});
    return {grad_x, grad_mix.sum(0)};
  }
};

at::Tensor composed_scaled_unit_norm(const at::Tensor& x, const at::Tensor& scale, double epsilon) {
  const at::Tensor length = x.norm(2, {-1}, /*keepdim=*/true);  // [.., H, 1]
  return x * (scale.view({-1, 1}) / (length + epsilon));
}

class FusedScaledUnitNorm : public torch::autograd::Function<FusedScaledUnitNorm> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& scale,
                            double epsilon) {
    const at::Tensor rows = with_contiguous_rows(x), scales = scale.contiguous();
    const at::Tensor y = at::empty(x.sizes(), x.options());
    cpu::scaled_unit_norm({.x = sequence_of(rows),
                           .scale = floats_of(scales),
                           .epsilon = static_cast<float>(epsilon),
                           .y = sequence_of(y)});
    context->save_for_backward({rows, scales});
    context->saved_data["epsilon"] = epsilon;
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list grad_outputs) {
    check_differentiated_once("scaled_unit_norm");
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &scale = saved[1];
    const at::Tensor grad_y = with_contiguous_rows(grad_outputs[0]);
    const at::Tensor grad_x = at::empty(x.sizes(), x.options());
    const at::Tensor grad_scale = at::empty({x.size(0), x.size(2)}, x.options());
    const double epsilon = context->saved_data["epsilon"].toDouble();
    cpu::scaled_unit_norm_gradient({.x = sequence_of(x),
                                    .scale = floats_of(scale),
                                    .epsilon = static_cast<float>(epsilon),
                                    .grad_y = sequence_of(grad_y),
                                    .grad_x = sequence_of(grad_x),
                                    .grad_scale = grad_scale.data_ptr<float>()});
    return {grad_x, grad_scale.sum(0), {}};
  }
};

/// y_0 [B, H, D] of an average over x [B, T, H, D]: zero where none is given.
at::Tensor start_of(const at::Tensor& x, const at::Tensor& initial, const char* what) {
  const int64_t B = x.size(0), H = x.size(2), D = x.size(3);
  if (!initial.defined()) return at::zeros({B, H, D}, x.options());
  check_like(initial, {B, H, D}, x, what);
  return initial;
}

/// y [B, T, H, D] of all heads.
at::Tensor project(const at::Tensor& x, const LinearMap& map, int64_t H, Precision precision) {
  const at::Tensor y = linear(x, map.weight, map.bias, precision);  // [B, T, C]
  TESSERA_CHECK(x.dim() == 3 && H > 0 && y.size(-1) % H == 0, "keys and values: x ", x.sizes(),
                " gives ", y.size(-1), " channels for ", H,
                " heads; expected [B, T, C] and a multiple of the heads");
  return y.unflatten(-1, {H, y.size(-1) / H});
}

}  // namespace

at::Tensor leaky_average(const at::Tensor& x, const at::Tensor& decay, const at::Tensor& initial) {
  check_sequence(x, "leaky_average: x");
  check_like(decay, {x.size(2)}, x, "leaky_average: decay");
  return averaged(x, {}, decay, start_of(x, initial, "leaky_average: initial"));
}

at::Tensor gated_leaky_average(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& decay,
                               const at::Tensor& initial) {
  check_sequence(x, "gated_leaky_average: x");
  check_like(gain, {x.size(0), x.size(1), x.size(2)}, x, "gated_leaky_average: gain");
  check_like(decay, {x.size(0), x.size(1), x.size(2)}, x, "gated_leaky_average: decay");
  return averaged(x, gain, decay, start_of(x, initial, "gated_leaky_average: initial"));
}

at::Tensor peek_average(const at::Tensor& x, const at::Tensor& mix) {
  check_sequence(x, "peek_average: x");
  check_like(mix, {x.size(2)}, x, "peek_average: mix");
  if (loops_run({x, mix})) return FusedPeekAverage::apply(x, mix);
  return composed_peek_average(x, mix);
}

at::Tensor scaled_unit_norm(const at::Tensor& x, const at::Tensor& scale, double epsilon) {
  TESSERA_CHECK(x.defined() && x.dim() >= 2 && x.is_floating_point(),
                "scaled_unit_norm: x must be a floating-point tensor [.., H, D]");
  check_like(scale, {x.size(-2)}, x, "scaled_unit_norm: scale");
  TESSERA_CHECK(epsilon >= 0, "scaled_unit_norm: epsilon is ", epsilon, ", expected >= 0");
  if (!loops_run({x, scale}) || x.numel() == 0) return composed_scaled_unit_norm(x, scale, epsilon);
  if (x.dim() == 4) return FusedScaledUnitNorm::apply(x, scale, epsilon);
  const at::Tensor rows = x.reshape({1, -1, x.size(-2), x.size(-1)});
  return FusedScaledUnitNorm::apply(rows, scale, epsilon).view(x.sizes());
}

at::Tensor HeadFactor::value() const {
  const at::Tensor logarithm = slope * x;
  return (std::isinf(bound) ? logarithm : logarithm.clamp_max(bound)).exp();
}

at::Tensor KeyParameters::decay() const {
  return (-leak_scale * leak.abs()).exp();
}

Keys extract_keys(const at::Tensor& x, const KeyParameters& parameters,
                  const at::Tensor& leaky_average, Precision precision) {
  const at::Tensor raw =
      project(x, parameters.projection, parameters.leak.size(0), precision);  // [B, T, H, D]
  TESSERA_CHECK(raw.size(1) > 0, "extract_keys: x has no steps, expected at least one");
  const at::Tensor averages = ops::leaky_average(raw, parameters.decay(), leaky_average);
  return {scaled_unit_norm(averages, parameters.scale.value(), parameters.epsilon),
          averages.select(1, -1)};
}

at::Tensor raw_values(const at::Tensor& x, const ValueParameters& parameters, Precision precision) {
  return project(x, parameters.projection, parameters.mix.size(0), precision);
}

at::Tensor complete_values(const at::Tensor& raw, const ValueParameters& parameters) {
  return scaled_unit_norm(peek_average(raw, parameters.mix), parameters.scale.value(),
                          parameters.epsilon);
}

at::Tensor adaptive_bandwidth(const at::Tensor& pairs, const AdaptiveBandwidth& parameters) {
  TESSERA_CHECK(pairs.defined() && pairs.is_floating_point(),
                "adaptive_bandwidth: pairs must be a floating-point tensor");
  const at::Tensor& exponent = parameters.exponent;
  check_like(exponent, {-1}, pairs, "adaptive_bandwidth: exponent");
  check_like(parameters.offset.x, {exponent.size(0)}, pairs, "adaptive_bandwidth: offset");
  check_like(parameters.factor.x, {exponent.size(0)}, pairs, "adaptive_bandwidth: factor");
  const at::Tensor logarithms = pairs.clamp_min(1).log().unsqueeze(-1);  // [.., 1]
  const at::Tensor power = (exponent.abs().clamp_max(1) * logarithms).exp();
  return parameters.factor.value() * power + parameters.offset.value();
}

}  // namespace tessera::ops
