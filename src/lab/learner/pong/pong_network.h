#pragma once

#include "lab/learner/pong/pong_agent.h"
#include "tessera/model/model_kind.h"

namespace tessera::task {

struct PongNetworkConfig {
  int64_t size = 80;
  int64_t actions = 6;
  PongAgentConfig agent;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("size", size, "rows and columns of a frame");
    field("actions", actions, "how many to choose from");
    field("agent", agent, "the network");
  }
};

/// A PongAgent as a SequenceModel, so that it is saved and loaded as every model is. It reads
/// normalised frames, row by row, [B, T, size size]; its outputs are the logits of the actions and
/// the value of the state, [B, T, actions + 1]. Its state is a TensorState: "hidden", "cell" and,
/// of a two-memory model, "item". It has no dropout.
class PongNetwork : public SequenceModel {
 public:
  static constexpr std::string_view kKind = "pong_agent";
  using Config = PongNetworkConfig;

  /// Draws the parameters from `seed`; without one they are left to be loaded. Throws UsageError on
  /// an impossible configuration.
  explicit PongNetwork(const PongNetworkConfig& config, std::optional<uint64_t> seed = 0,
                       at::Device device = at::kCPU);
  /// Shares the agent, which must be one of this configuration.
  PongNetwork(const PongNetworkConfig& config, PongAgent agent);

  std::string_view kind() const override { return kKind; }
  config::Json hyper_parameters() const override;

  at::Tensor forward(const at::Tensor& frames, std::optional<uint64_t> dropout_seed = {},
                     int64_t first_output = 0) override;
  SequenceState empty_state() const override;
  SequenceOutput read(const at::Tensor& frames, SequenceState&& state,
                      int64_t first_output = 0) override;
  SequenceState state_from(const TensorFile& file, const SequenceState& empty) const override;
  void initialise(uint64_t seed) override;

  PongAgent agent = nullptr;

 private:
  at::Tensor run(const at::Tensor& frames, PongAgentState& state, int64_t first_output);

  PongNetworkConfig config_;
};

ModelKind pong_network_kind();

}  // namespace tessera::task
