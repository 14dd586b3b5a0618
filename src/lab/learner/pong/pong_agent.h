#pragma once

#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <array>
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

/// What an agent remembers of the games of W workers.
struct PongAgentState {
  at::Tensor hidden, cell;  ///< [W, hidden]
  at::Tensor item;          ///< [W, D, D]; undefined without a two-memory model
};

/// An agent for actor-critic training: convolutions with a stride of 1, each with 2 x 2 maxima and
/// ReLU after it, an LSTM, beside it the two-memory model for reinforcement learning, and two
/// linear maps for policy and value (Le et al. 2020, appendix I).
///
/// Differs from the paper: padding is not stated there; 2 keeps the size of an 80 x 80 frame until
/// the maxima, so that 800 values are left and not 1024. The authors' code has 32, 32, 64 and 64
/// kernels of 5, 5, 4 and 3 with paddings 2, 1, 1, 1, which leave 1024, and an LSTM of 256.
class PongAgentImpl : public torch::nn::Module {
 public:
  /// actions: how many to choose from; size: of a frame. Else as ModelKind::make.
  PongAgentImpl(const PongAgentConfig& config, int64_t size, int64_t actions,
                std::optional<uint64_t> seed, at::Device device = at::kCPU);
  /// Draws all parameters again: same seed, same parameters.
  void initialise(uint64_t seed);

  PongAgentState initial_state(int64_t W) const;
  /// The state with the sequences begun again where `continues` [W] is 0 and not 1.
  PongAgentState restart(const PongAgentState& state, const at::Tensor& continues) const;

  struct Answer {
    at::Tensor logits;  ///< [W, actions]
    at::Tensor values;  ///< [W]
    PongAgentState state;
  };
  /// frames [W, size, size], normalised. Throws UsageError where they do not fit.
  Answer step(const at::Tensor& frames, const PongAgentState& state);

 private:
  at::Tensor features(const at::Tensor& frames) const;  // [W, F]

  PongAgentConfig config_;
  int64_t size_;
  std::vector<at::Tensor> kernels_, biases_;  // of the convolutions: [out, in, k, k], [out]
  torch::nn::Linear input_ = nullptr, recurrent_ = nullptr;  // the LSTM's gates i, f, g, o
  std::shared_ptr<Stm> stm_;                                 // none for PongMemory::kLstm
  torch::nn::Linear policy_ = nullptr, value_ = nullptr;
};
TORCH_MODULE(PongAgent);

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

  /// Throws UsageError that names the field and what it may be. The agent checks its own.
  void check() const;
};

/// A PongAgent as a SequenceModel, so that it is saved and loaded as every model is. It reads
/// normalised frames, row by row, [B, T, size size]; its outputs are the logits of the actions and
/// the value of the state, [B, T, actions + 1]. Its state is a TensorState: "hidden", "cell" and,
/// of a two-memory model, "item". It has no dropout.
class PongNetwork : public TensorStateNetwork {
 public:
  static constexpr std::string_view kKind = "pong_agent";
  using Config = PongNetworkConfig;

  /// As ModelKind::make.
  explicit PongNetwork(const PongNetworkConfig& config, std::optional<uint64_t> seed = 0,
                       at::Device device = at::kCPU);
  /// Shares the agent, which must be one of this configuration.
  PongNetwork(const PongNetworkConfig& config, PongAgent agent);

  std::string_view kind() const override { return kKind; }
  config::Json hyper_parameters() const override { return config::to_json(config_); }

  void initialise(uint64_t seed) override;

  PongAgent agent = nullptr;

 private:
  enum Part : size_t { kHidden, kCell, kItem };  // of the state; no item without an stm

  at::Tensor placed(const at::Tensor& frames) const override;
  StateParts state_parts() const override;
  Parts first_state(int64_t B) const override;
  at::Tensor outputs(const at::Tensor& frames, Parts& state, int64_t first_output) override;

  PongNetworkConfig config_;
};

}  // namespace tessera::task
