#include "lab/baseline/attentional_lstm.h"

#include <ATen/ATen.h>

#include <limits>

#include "tessera/memory/make_linear.h"
#include "tessera/ops/batched_product.h"

namespace tessera {

RecurrentNetwork::Layout AttentionalLstm::layout_of(const AttentionalLstmConfig& config) {
  return {config.inputs,
          config.hidden,
          config.outputs,
          {{"history", {-1, config.hidden}}, {"cell", {config.hidden}}}};
}

AttentionalLstm::AttentionalLstm(const AttentionalLstmConfig& config, std::optional<uint64_t> seed,
                                 at::Device device)
    : ConfiguredNetwork(config, device),
      lstm_(register_module("lstm", LstmLayer(config.inputs, config.hidden, device))),
      score_(register_module(
          "score", make_linear(config.hidden, config.hidden, /*with_bias=*/false, device))),
      combination_(register_module("combination", make_linear(2 * config.hidden, config.hidden,
                                                              /*with_bias=*/false, device))) {
  if (seed) initialise(*seed);
}

at::Tensor AttentionalLstm::run(const at::Tensor& x, Parts& state, int64_t first_output) {
  const at::Tensor history = state[kHistory];
  const int64_t S = history.size(1), T = x.size(1);
  const auto sequence = lstm_->forward(x, history.select(1, S - 1), state[kCell]);
  const at::Tensor all = at::cat({history, sequence.outputs}, 1);  // [B, S + T, H]
  state = {all, sequence.cell};

  const at::Tensor hidden = sequence.outputs.slice(1, first_output);  // [B, T', H]
  const at::Tensor earlier = all.narrow(1, 0, S + T - 1);
  const at::Tensor scores = ops::batched_product(score_->forward(hidden), earlier.transpose(1, 2));
  const at::Tensor present_or_later =
      at::ones({hidden.size(1), S + T - 1}, x.options().dtype(at::kBool)).triu(S + first_output);
  const at::Tensor weights =
      scores.masked_fill(present_or_later, -std::numeric_limits<double>::infinity()).softmax(2);
  return combination_->forward(at::cat({ops::batched_product(weights, earlier), hidden}, 2)).tanh();
}

}  // namespace tessera
