#include "tessera/memory/mosaic/extractors.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "tessera/memory/make_linear.h"
#include "tessera/tensor/check.h"

namespace tessera {
namespace {

// exp of twice the first, and of the second, still fits into half precision.
constexpr double kPaperCap = 5.0;
const double kNanoCap = std::log(65535.0);

}  // namespace

void MemoryOptions::check() const {
  TESSERA_CHECK(heads > 0 && channels > 0 && channels % heads == 0, "MemoryOptions: ", heads,
                " heads of ", channels, " channels; expected 1 or more heads that divide them");
  TESSERA_CHECK(dropout >= 0 && dropout < 1, "MemoryOptions: a dropout of ", dropout,
                "; expected 0 <= dropout < 1");
}

KeyExtractorImpl::KeyExtractorImpl(const MemoryOptions& options, int scale_power)
    : options_(options), scale_power_(scale_power) {
  options.check();
  reset();
}

void KeyExtractorImpl::reset() {
  const int64_t C = options_.channels, H = options_.heads;
  projection = register_module("projection", make_linear(C, C, options_.bias, options_.device));
  leak = register_parameter("leak", at::zeros({H}, options_.device));
  log_scale = register_parameter("log_scale", at::zeros({H}, options_.device));
  reset_scalars();
}

void KeyExtractorImpl::reset_scalars() {
  at::NoGradGuard no_grad;
  leak.copy_(at::linspace(0.5, 5.0, options_.heads) / kScalarScaling);
  log_scale.fill_(1.0 / kScalarScaling);
}

ops::KeyParameters KeyExtractorImpl::parameters_for_ops() const {
  // The paper's library caps before it squares, nanoMosaics after.
  const bool paper = options_.parameterisation == Parameterisation::kPaper;
  const double scale_cap = paper ? kPaperCap * scale_power_ : kNanoCap;
  return {{projection->weight, projection->bias},
          leak,
          /*leak_scale=*/kScalarScaling,
          {log_scale, kScalarScaling * scale_power_, scale_cap},
          kNormEpsilon};
}

ops::Keys KeyExtractorImpl::forward(const at::Tensor& x, const at::Tensor& leaky_average) {
  check_shape(x, {-1, -1, options_.channels}, "KeyExtractor: x");
  return ops::extract_keys(x, parameters_for_ops(), leaky_average, options_.precision);
}

ValueExtractorImpl::ValueExtractorImpl(const MemoryOptions& options) : options_(options) {
  options.check();
  reset();
}

void ValueExtractorImpl::reset() {
  const int64_t C = options_.channels, H = options_.heads;
  projection = register_module("projection", make_linear(C, C, options_.bias, options_.device));
  mix = register_parameter("mix", at::zeros({H}, options_.device));
  log_scale = register_parameter("log_scale", at::zeros({H}, options_.device));
  reset_scalars();
}

void ValueExtractorImpl::reset_scalars() {
  at::NoGradGuard no_grad;
  mix.fill_(0.5);
  log_scale.fill_(kFirstLogScale / kScalarScaling);
}

ops::ValueParameters ValueExtractorImpl::parameters_for_ops() const {
  return {{projection->weight, projection->bias}, mix, {log_scale, kScalarScaling}, kNormEpsilon};
}

at::Tensor ValueExtractorImpl::raw(const at::Tensor& x) {
  check_shape(x, {-1, -1, options_.channels}, "ValueExtractor: x");
  return ops::raw_values(x, parameters_for_ops(), options_.precision);
}

at::Tensor ValueExtractorImpl::complete(const at::Tensor& raw) {
  return ops::complete_values(raw, parameters_for_ops());
}

}  // namespace tessera
