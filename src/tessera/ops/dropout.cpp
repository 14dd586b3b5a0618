#include "tessera/ops/dropout.h"

#include <ATen/ATen.h>

#include "tessera/ops/cpu/dropout.h"
#include "tessera/ops/detail/dispatch.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

constexpr int64_t kLow32 = 0xffffffff;

/// cpu::mix32 on int64 tensors that hold 32-bit words.
at::Tensor mix32(at::Tensor x) {
  x = x.bitwise_xor(at::bitwise_right_shift(x, 16));
  x = (x * static_cast<int64_t>(cpu::kMixFirst)).bitwise_and(kLow32);
  x = x.bitwise_xor(at::bitwise_right_shift(x, 15));
  x = (x * static_cast<int64_t>(cpu::kMixSecond)).bitwise_and(kLow32);
  return x.bitwise_xor(at::bitwise_right_shift(x, 16));
}

at::Tensor fused(const at::Tensor& x, const Dropout& dropout) {
  const at::Tensor from = x.contiguous();
  const at::Tensor y = at::empty(from.sizes(), from.options());
  const int64_t columns = x.size(-1);
  cpu::activation_dropout({.rows = x.numel() / columns,
                           .columns = columns,
                           .seed = dropout.seed,
                           .probability = dropout.probability,
                           .x = floats_of(from),
                           .y = y.data_ptr<float>()});
  return y;
}

/// The mask is drawn again for the gradient, which it multiplies as it did x.
class FusedActivationDropout : public torch::autograd::Function<FusedActivationDropout> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const Dropout& dropout) {
    save_dropout(context, dropout);
    return fused(x, dropout);
  }

  static variable_list backward(AutogradContext* context, variable_list grad_outputs) {
    check_differentiated_once("activation_dropout");
    return {fused(grad_outputs[0], saved_dropout(context)), {}};
  }
};

}  // namespace

void check_dropout(const Dropout& dropout, const char* caller) {
  TESSERA_CHECK(dropout.probability >= 0 && dropout.probability < 1, caller,
                ": dropout probability is ", dropout.probability, ", expected 0 <= p < 1");
}

at::Tensor dropout_factors(const Dropout& dropout, int64_t B, int64_t H, int64_t first_time,
                           int64_t queries, int64_t keys, const at::TensorOptions& options) {
  const auto integers = options.dtype(at::kLong).requires_grad(false);
  const int64_t seed_key = cpu::dropout_seed_key(dropout.seed);
  const at::Tensor rows = at::arange(B, integers).view({B, 1, 1, 1});
  const at::Tensor heads = at::arange(H, integers).view({H, 1, 1});
  const at::Tensor sequence_keys = mix32((rows + seed_key).bitwise_and(kLow32));
  const at::Tensor head_keys = mix32((sequence_keys + heads).bitwise_and(kLow32));
  const at::Tensor times = at::arange(first_time, first_time + queries, integers).view({-1, 1});
  const at::Tensor pairs = at::arange(keys, integers);
  const at::Tensor row_keys =
      mix32((head_keys + times * static_cast<int64_t>(cpu::kTimeStep)).bitwise_and(kLow32));
  const at::Tensor words =
      mix32((row_keys + pairs * static_cast<int64_t>(cpu::kPairStep)).bitwise_and(kLow32));
  const int64_t threshold = cpu::dropout_threshold(dropout.probability);
  return words.ge(threshold).to(options.dtype()).mul(1.0 / (1.0 - dropout.probability));
}

at::Tensor activation_dropout(const at::Tensor& x, const Dropout& dropout) {
  check_dropout(dropout, "activation_dropout");
  if (dropout.probability == 0 || x.numel() == 0) return x;
  if (loops_run({x})) return FusedActivationDropout::apply(x, dropout);
  const int64_t columns = x.size(-1), rows = x.numel() / columns;
  return x * dropout_factors(dropout, 1, 1, 0, rows, columns, x.options()).view(x.sizes());
}

}  // namespace tessera::ops
