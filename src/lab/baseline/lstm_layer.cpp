#include "lab/baseline/lstm_layer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

namespace tessera {

LstmLayerImpl::LstmLayerImpl(int64_t inputs, int64_t channels, at::Device device,
                             int64_t fed_back) {
  const int64_t C = channels;
  input_weight = register_parameter("input_weight", at::zeros({4 * C, inputs}, device));
  recurrent_weight =
      register_parameter("recurrent_weight", at::zeros({4 * C, C + fed_back}, device));
  bias = register_parameter("bias", at::zeros({4 * C}, device));
}

LstmLayerImpl::Sequence LstmLayerImpl::forward(const at::Tensor& x, const at::Tensor& hidden,
                                               const at::Tensor& cell) {
  const at::Tensor before[] = {hidden.unsqueeze(0).contiguous(),  // as cuDNN wants it
                               cell.unsqueeze(0).contiguous()};   // [1, B, C]
  const at::Tensor parameters[] = {input_weight, recurrent_weight, bias, at::zeros_like(bias)};
  const auto [outputs, last_hidden, last_cell] =
      at::lstm(x, before, parameters, /*has_biases=*/true, /*num_layers=*/1, /*dropout=*/0.0,
               /*train=*/at::GradMode::is_enabled(), /*bidirectional=*/false,
               /*batch_first=*/true);
  return {outputs, last_hidden[0], last_cell[0]};
}

at::Tensor LstmLayerImpl::project(const at::Tensor& x) const {
  return at::linear(x, input_weight, bias);
}

LstmLayerImpl::Step LstmLayerImpl::step(const at::Tensor& projected, const at::Tensor& recurrent,
                                        const at::Tensor& cell) const {
  const auto sums =
      at::addmm(projected, recurrent, recurrent_weight.t()).chunk(4, 1);  // i, f, g, o
  const at::Tensor next = at::addcmul(sums[1].sigmoid() * cell, sums[0].sigmoid(), sums[2].tanh());
  return {sums[3].sigmoid() * next.tanh(), next};
}

void LstmLayerImpl::initialise(Initialiser& draw) {
  at::NoGradGuard no_grad;
  const int64_t C = bias.size(0) / 4;
  const double bound = 1.0 / std::sqrt(C);
  draw.uniform(input_weight, -bound, bound);
  draw.uniform(recurrent_weight, -bound, bound);
  bias.zero_();
  bias.narrow(0, C, C).fill_(1.0);
}

}  // namespace tessera
