#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

#include "tessera/model/initialisation.h"

namespace tessera {

/// One layer of long short-term memory (Hochreiter & Schmidhuber 1997), with h the hidden state and
/// c the cell:
///
///     i, f, o = sigmoid(W x + U h + b)     g = tanh(W x + U h + b)     (each with rows of its own)
///     c = f c + i g                        h = o tanh(c)
///
/// Differs from Hochreiter & Schmidhuber 1997: the cell is multiplied by the forget gate f of Gers
/// et al. 2000, as in every LSTM of today; no peephole connections; gradients are not truncated.
class LstmLayerImpl : public torch::nn::Module {
 public:
  LstmLayerImpl(int64_t inputs, int64_t channels, at::Device device);

  struct Sequence {
    at::Tensor outputs;       ///< [B, T, C]: h after every step
    at::Tensor hidden, cell;  ///< [B, C]: after the last
  };
  /// x [B, T, in], T > 0; hidden, cell [B, C] before the first step.
  Sequence forward(const at::Tensor& x, const at::Tensor& hidden, const at::Tensor& cell);

  /// As torch::nn::LSTM: weights uniform in ±1/sqrt(C). The forget gates begin open, with bias 1
  /// (Jozefowicz et al. 2015), the other biases at 0.
  void initialise(Initialiser& draw);

  /// Rows in the order i, f, g, o, which is PyTorch's. PyTorch has two biases, of which only the
  /// sum matters; this layer has one.
  at::Tensor input_weight;      ///< W [4C, in]
  at::Tensor recurrent_weight;  ///< U [4C, C]
  at::Tensor bias;              ///< b [4C]
};
TORCH_MODULE(LstmLayer);

}  // namespace tessera
