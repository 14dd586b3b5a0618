#pragma once

#include <torch/nn/modules/container/modulelist.h>

#include "lab/baseline/lstm_layer.h"
#include "lab/baseline/recurrent_network.h"

namespace tessera {

struct VectorLstmConfig {
  int64_t inputs = 34;
  int64_t outputs = 32;
  int64_t layers = 1;
  int64_t hidden = 512;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("inputs", inputs, "width of the input vectors", kSizes);
    field("outputs", outputs, "width of the output vectors", kSizes);
    field("layers", layers, "number of LSTM layers", kCounts);
    field("hidden", hidden, "width of each layer's hidden state and cell", kSizes);
  }
};

/// LSTM layers over vectors (Hochreiter & Schmidhuber 1997, see lstm_layer.h) and a linear head:
/// the first baseline of Le et al. 2020. State: "hidden" and "cell" [B, L, H].
class VectorLstm : public ConfiguredNetwork<VectorLstm, VectorLstmConfig, RecurrentNetwork> {
 public:
  static constexpr std::string_view kKind = "vector_lstm";

  explicit VectorLstm(const VectorLstmConfig& config, std::optional<uint64_t> seed = 0,
                      at::Device device = at::kCPU);
  static Layout layout_of(const VectorLstmConfig& config);

 protected:
  at::Tensor run(const at::Tensor& x, Parts& state, int64_t first_output) override;

 private:
  enum Part : size_t { kHidden, kCell };  // of the state, in layout_of

  torch::nn::ModuleList layers_;
};

}  // namespace tessera
