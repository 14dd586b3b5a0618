#include "tessera/ops/kernel_smoothing.h"

#include "tessera/ops/causal_read.h"
#include "tessera/ops/check_sequence.h"

namespace tessera::ops {

at::Tensor kernel_smoothing(const at::Tensor& keys, const at::Tensor& values,
                            const Dropout& dropout, Precision precision) {
  check_sequence(keys, "kernel_smoothing: keys");
  check_like(values, {keys.size(0), keys.size(1), keys.size(2), keys.size(3)}, keys,
             "kernel_smoothing: values");
  check_dropout(dropout, "kernel_smoothing");
  CausalReadOptions options;
  options.lag = 1;
  options.dropout = dropout;
  options.precision = precision;
  return causal_read(keys, keys, values, options);
}

}  // namespace tessera::ops
