#include "tessera/memory/mosaic/value_extractor.h"

#include <ATen/ATen.h>

#include "tessera/memory/make_linear.h"
#include "tessera/memory/mosaic/step_parameters.h"
#include "tessera/ops/peek_average.h"
#include "tessera/ops/scaled_unit_norm.h"
#include "tessera/tensor/check_shape.h"

namespace tessera {

ValueExtractorImpl::ValueExtractorImpl(const MemoryOptions& options) : options_(options) {
  projection = register_module(
      "projection", make_linear(options.channels, options.channels, options.bias, options.device));
  mix = register_parameter("mix", at::full({options.heads}, 0.5, options.device));
  log_scale = register_parameter(
      "log_scale", at::full({options.heads}, kFirstLogScale / kScalarScaling, options.device));
}

void ValueExtractorImpl::reset_scalars() {
  at::NoGradGuard no_grad;
  mix.fill_(0.5);
  log_scale.fill_(kFirstLogScale / kScalarScaling);
}

at::Tensor ValueExtractorImpl::scale() const {
  return (kScalarScaling * log_scale).exp();
}

at::Tensor ValueExtractorImpl::raw(const at::Tensor& x) {
  check_shape(x, {-1, -1, options_.channels}, "ValueExtractor: x");
  return ops::linear(x, projection->weight, projection->bias, options_.precision)
      .unflatten(-1, {options_.heads, options_.head_width()});
}

at::Tensor ValueExtractorImpl::complete(const at::Tensor& raw) {
  return ops::scaled_unit_norm(ops::peek_average(raw, mix), scale(), kNormEpsilon);
}

cpu::ValueStep ValueExtractorImpl::step_loop(const at::Tensor& last_raw,
                                             const at::Tensor& raw) const {
  cpu::ValueStep step;
  step.projection = projection_of(*projection);
  step.mix = mix.data_ptr<float>();
  step.scale = head_factor(log_scale, kScalarScaling);
  step.last_raw_value = last_raw.data_ptr<float>();
  step.raw_value = raw.data_ptr<float>();
  return step;
}

}  // namespace tessera
