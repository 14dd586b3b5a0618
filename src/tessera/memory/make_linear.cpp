#include "tessera/memory/make_linear.h"

#include <ATen/ATen.h>

#include "tessera/ops/linear.h"

namespace tessera {
namespace {

/// A linear map on the meta device.
class UnallocatedLinear : public torch::nn::LinearImpl {
 public:
  UnallocatedLinear(int64_t in, int64_t out, bool with_bias)
      : LinearImpl(torch::nn::LinearOptions(1, 1).bias(with_bias)) {
    options = torch::nn::LinearOptions(in, out).bias(with_bias);
    weight = resize("weight", {out, in});
    if (with_bias) bias = resize("bias", {out});
  }

 private:
  at::Tensor resize(const std::string& name, at::IntArrayRef sizes) {
    return parameters_[name] =
               at::empty(sizes, at::TensorOptions(at::kMeta)).set_requires_grad(true);
  }
};

}  // namespace

torch::nn::Linear make_linear(int64_t in, int64_t out, bool with_bias, at::Device device) {
  if (device.is_meta())
    return torch::nn::Linear(std::shared_ptr<torch::nn::LinearImpl>(
        std::make_shared<UnallocatedLinear>(in, out, with_bias)));
  torch::nn::Linear linear(torch::nn::LinearOptions(in, out).bias(with_bias));
  linear->to(device);
  return linear;
}

at::Tensor mapped(const at::Tensor& x, const torch::nn::Linear& map, ops::Precision precision) {
  return ops::linear(x, map->weight, map->bias, precision);
}

}  // namespace tessera
