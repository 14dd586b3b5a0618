#pragma once

#include <torch/nn/modules/linear.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "lab/baseline/tensor_state.h"
#include "tessera/model/stm.h"

namespace tessera::task {

/// What an agent remembers with.
///   kLstm  an LSTM
///   kStm   the same LSTM with a two-memory model that reads what the LSTM says
enum class PongMemory { kLstm, kStm };
constexpr std::array<std::string_view, 2> enum_names(PongMemory) {
  return {"lstm", "stm"};
}

/// Defaults: Le et al. 2020, appendix I.
struct PongAgentConfig {
  std::vector<int64_t> channels = {32, 32, 32, 32};
  std::vector<int64_t> kernels = {5, 5, 5, 5};
  std::vector<int64_t> paddings = {2, 2, 2, 2};
  int64_t hidden = 512;
  PongMemory memory = PongMemory::kLstm;
  int64_t slots = 8;
  int64_t width = 96;
  int64_t distilled = 96;
  int64_t outputs = 256;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("channels", channels, "kernels of each convolution", config::between(1, 4096));
    field("kernels", kernels, "rows and columns of each convolution's kernels",
          config::between(1, 4096));
    field("paddings", paddings, "empty pixels around what each convolution reads",
          config::at_least(0));
    field("hidden", hidden, "width of the LSTM", kSizes);
    field("memory", memory, "what the agent remembers with");
    field("slots", slots, "stm: queries, keys and values (n_q)", kSizes);
    field("width", width, "stm: the item memory is width x width (d)", kSizes);
    field("distilled", distilled, "stm: width that each relational matrix is distilled to (n_r)",
          kSizes);
    field("outputs", outputs, "stm: width of its output", kSizes);
  }

  /// For frames of size x size. Throws UsageError that names the field and what it may be.
  void check(int64_t size) const;
  /// Values that the convolutions leave of a frame.
  int64_t features(int64_t size) const;
  StmConfig stm() const;
};

struct PongNetworkConfig {
  int64_t size = 80;
  int64_t actions = 6;
  PongAgentConfig agent = {};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("size", size, "rows and columns of a frame", kSizes);
    field("actions", actions, "number of actions to choose from", kSizes);
    field("agent", agent, "the network");
  }

  /// Throws UsageError that names the field and what it may be.
  void check() const;
};

/// An agent for actor-critic training: convolutions with a stride of 1, each with 2 x 2 maxima and
/// ReLU after it, an LSTM, beside it the two-memory model for reinforcement learning, and two
/// linear maps for policy and value (Le et al. 2020, appendix I). As a SequenceModel it reads
/// normalised frames, row by row, [B, T, size size]; its outputs are the logits of the actions and
/// the value of the state, [B, T, actions + 1]. Its state is a TensorState: "hidden", "cell" and,
/// of a two-memory model, "item". It has no dropout.
///
/// Differs from the paper: padding is not stated there; 2 keeps the size of an 80 x 80 frame until
/// the maxima, so that 800 values are left and not 1024. The authors' code has 32, 32, 64 and 64
/// kernels of 5, 5, 4 and 3 with paddings 2, 1, 1, 1, which leave 1024, and an LSTM of 256.
class PongNetwork : public TensorStateNetwork {
 public:
  static constexpr std::string_view kKind = "pong_agent";
  using Config = PongNetworkConfig;
  using State = Parts;  ///< of the games of W workers: [W, hidden] twice, [W, D, D] with an stm

  /// As ModelKind::make.
  explicit PongNetwork(const PongNetworkConfig& config, std::optional<uint64_t> seed = 0,
                       at::Device device = at::kCPU);

  std::string_view kind() const override { return kKind; }
  config::Json hyper_parameters() const override { return config::to_json(config_); }

  /// Draws all parameters again: same seed, same parameters.
  void initialise(uint64_t seed) override;

  State first_state(int64_t W) const override;
  /// The state with the sequences begun again where `continues` [W] is 0 and not 1.
  State restart(const State& state, const at::Tensor& continues) const;

  struct Answer {
    at::Tensor logits;  ///< [W, actions]
    at::Tensor values;  ///< [W]
  };
  /// frames [W, size, size], normalised; the state becomes the one after them. Throws UsageError
  /// where they do not fit.
  Answer answer(const at::Tensor& frames, State& state);

  /// What holds all parameters.
  const std::shared_ptr<torch::nn::Module>& agent() const { return agent_; }

 private:
  enum Part : size_t { kHidden, kCell, kItem };  // of the state; no item without an stm

  at::Tensor placed(const at::Tensor& frames) const override;
  StateParts state_parts() const override;
  at::Tensor outputs(const at::Tensor& frames, State& state, int64_t first_output) override;
  at::Tensor features(const at::Tensor& frames) const;  // [W, F]

  PongNetworkConfig config_;
  std::shared_ptr<torch::nn::Module> agent_;
  std::vector<at::Tensor> kernels_, biases_;  // of the convolutions: [out, in, k, k], [out]
  torch::nn::Linear input_ = nullptr, recurrent_ = nullptr;  // the LSTM's gates i, f, g, o
  std::shared_ptr<Stm> stm_;                                 // none for PongMemory::kLstm
  torch::nn::Linear policy_ = nullptr, value_ = nullptr;
};

}  // namespace tessera::task
