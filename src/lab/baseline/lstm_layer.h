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
  /// fed_back: width of what comes back from the step before beside h, for a controller of a
  /// memory: U h above is then U [h; reads].
  LstmLayerImpl(int64_t inputs, int64_t channels, at::Device device, int64_t fed_back = 0);

  struct Sequence {
    at::Tensor outputs;       ///< [B, T, C]: h after every step
    at::Tensor hidden, cell;  ///< [B, C]: after the last
  };
  /// x [B, T, in], T > 0; hidden, cell [B, C] before the first step. For layers with fed_back = 0.
  Sequence forward(const at::Tensor& x, const at::Tensor& hidden, const at::Tensor& cell);

  struct Step {
    at::Tensor hidden, cell;  ///< [B, C]
  };
  /// W x + b of all steps at once: x [.., in] -> [.., 4C].
  at::Tensor project(const at::Tensor& x) const;
  /// One step: projected [B, 4C], recurrent [B, C + fed_back] (h, then what is fed back), cell [B,
  /// C].
  Step step(const at::Tensor& projected, const at::Tensor& recurrent, const at::Tensor& cell) const;

  /// As torch::nn::LSTM: weights uniform in ±1/sqrt(C). The forget gates begin open, with bias 1
  /// (Jozefowicz et al. 2015), the other biases at 0.
  void initialise(Initialiser& draw);

  /// Rows in the order i, f, g, o, which is PyTorch's. PyTorch has two biases, of which only the
  /// sum matters; this layer has one.
  at::Tensor input_weight;      ///< W [4C, in]
  at::Tensor recurrent_weight;  ///< U [4C, C + fed_back]
  at::Tensor bias;              ///< b [4C]
};
TORCH_MODULE(LstmLayer);

}  // namespace tessera
