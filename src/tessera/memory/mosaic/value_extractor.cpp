#include "tessera/memory/mosaic/value_extractor.h"

#include <ATen/ATen.h>

#include "tessera/memory/make_linear.h"
#include "tessera/tensor/check.h"

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

ops::ValueParameters ValueExtractorImpl::parameters_for_ops() const {
  return {{projection->weight, projection->bias}, mix, {log_scale, kScalarScaling}, kNormEpsilon};
}

at::Tensor ValueExtractorImpl::scale() const {
  return parameters_for_ops().scale.value();
}

at::Tensor ValueExtractorImpl::raw(const at::Tensor& x) {
  check_shape(x, {-1, -1, options_.channels}, "ValueExtractor: x");
  return ops::raw_values(x, parameters_for_ops(), options_.precision);
}

at::Tensor ValueExtractorImpl::complete(const at::Tensor& raw) {
  return ops::complete_values(raw, parameters_for_ops());
}

}  // namespace tessera
