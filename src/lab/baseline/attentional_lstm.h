#pragma once

#include "lab/baseline/lstm_layer.h"
#include "lab/baseline/recurrent_network.h"

namespace tessera {

struct AttentionalLstmConfig {
  int64_t inputs = 34;
  int64_t outputs = 32;
  int64_t hidden = 512;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("inputs", inputs, "width of the input vectors", kSizes);
    field("outputs", outputs, "width of the output vectors", kSizes);
    field("hidden", hidden, "width of the hidden state and the cell", kSizes);
  }
};

/// An LSTM that at every step attends over all of its earlier hidden states, the learned first one
/// h_0 included (global attention, Luong et al. 2015, section 3.1, with their score "general"):
///
///     a_s = softmax_s((W_a h_t) . h_s), s < t     c_t = sum_s a_s h_s
///     attentional state = tanh(W_c [c_t; h_t])    y_t = head of it
///
/// Differs from Le et al. 2020: their code has a GRU encoder and a GRU decoder, whose attention is
/// over places, a linear map of the decoder's state to weights of at most 100 of them (location
/// attention). Here weights depend on what is there, at any length, and one network reads and
/// answers, as the other baselines do.
///
/// State: "history" [B, 1 + t, H], which holds h_0 and all later hidden states, and "cell" [B, H].
/// A whole pass forms the scores of all pairs of steps, [B, T, T].
class AttentionalLstm
    : public ConfiguredNetwork<AttentionalLstm, AttentionalLstmConfig, RecurrentNetwork> {
 public:
  static constexpr std::string_view kKind = "attentional_lstm";

  explicit AttentionalLstm(const AttentionalLstmConfig& config, std::optional<uint64_t> seed = 0,
                           at::Device device = at::kCPU);
  static Layout layout_of(const AttentionalLstmConfig& config);

 protected:
  at::Tensor run(const at::Tensor& x, Parts& state, int64_t first_output) override;

 private:
  enum Part : size_t { kHistory, kCell };  // of the state, in layout_of

  LstmLayer lstm_;
  torch::nn::Linear score_;        // W_a [H, H]
  torch::nn::Linear combination_;  // W_c [H, 2H]
};

}  // namespace tessera
