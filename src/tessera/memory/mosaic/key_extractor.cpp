#include "tessera/memory/mosaic/key_extractor.h"

#include <ATen/ATen.h>

#include "tessera/memory/make_linear.h"
#include "tessera/memory/mosaic/step_parameters.h"
#include "tessera/ops/leaky_average.h"
#include "tessera/ops/scaled_unit_norm.h"
#include "tessera/tensor/check_shape.h"

namespace tessera {
namespace {

// exp of twice the first, and of the second, still fits into half precision.
constexpr double kPaperCap = 5.0;
const double kNanoCap = std::log(65535.0);

}  // namespace

KeyExtractorImpl::KeyExtractorImpl(const MemoryOptions& options, int scale_power)
    : options_(options), scale_power_(scale_power) {
  projection = register_module(
      "projection", make_linear(options.channels, options.channels, options.bias, options.device));
  leak = register_parameter("leak", at::zeros({options.heads}, options.device));
  log_scale = register_parameter("log_scale", at::zeros({options.heads}, options.device));
  reset_scalars();
}

void KeyExtractorImpl::reset_scalars() {
  at::NoGradGuard no_grad;
  leak.copy_(at::linspace(0.5, 5.0, options_.heads) / kScalarScaling);
  log_scale.fill_(1.0 / kScalarScaling);
}

at::Tensor KeyExtractorImpl::decay() const {
  return (-kScalarScaling * leak.abs()).exp();
}

double KeyExtractorImpl::scale_cap() const {
  // The paper's library caps before it squares, nanoMosaics after.
  const bool paper = options_.parameterisation == Parameterisation::kPaper;
  return paper ? kPaperCap * scale_power_ : kNanoCap;
}

at::Tensor KeyExtractorImpl::scale() const {
  return (kScalarScaling * scale_power_ * log_scale).clamp_max(scale_cap()).exp();
}

KeyExtractorImpl::Keys KeyExtractorImpl::forward(const at::Tensor& x,
                                                 const at::Tensor& leaky_average) {
  check_shape(x, {-1, -1, options_.channels}, "KeyExtractor: x");
  const at::Tensor raw =
      ops::linear(x, projection->weight, projection->bias, options_.precision)
          .unflatten(-1, {options_.heads, options_.head_width()});  // [B, T, H, D]
  const at::Tensor averages = ops::leaky_average(raw, decay(), leaky_average);
  const at::Tensor keys = ops::scaled_unit_norm(averages, scale(), kNormEpsilon);
  return {keys, averages.select(1, -1)};
}

cpu::KeyStep KeyExtractorImpl::step_loop(const at::Tensor& last_leaky_average,
                                         const at::Tensor& leaky_average,
                                         const at::Tensor& key) const {
  cpu::KeyStep step;
  step.projection = projection_of(*projection);
  step.decay = head_factor(leak, -kScalarScaling, 0);
  step.scale = head_factor(log_scale, kScalarScaling * scale_power_, scale_cap());
  if (last_leaky_average.defined()) step.last_leaky_key = last_leaky_average.data_ptr<float>();
  step.leaky_key = leaky_average.data_ptr<float>();
  step.key = key.data_ptr<float>();
  return step;
}

}  // namespace tessera
