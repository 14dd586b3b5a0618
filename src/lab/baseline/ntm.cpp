#include "lab/baseline/ntm.h"

#include <ATen/ATen.h>

#include "tessera/ops/batched_product.h"

namespace tessera {
namespace {

constexpr int64_t kShifts = 3;           // -1, 0, 1
constexpr int64_t kScalars = 1 + 1 + 1;  // strength, gate, sharpness
constexpr double kLeastWeight = 1e-16;   // so that its logarithm exists

/// Moves each head's weights by -1, 0 and 1 places, as `shifts` weighs them (Graves et al. 2014,
/// eq. 8): weights [B, H, N], shifts [B, H, 3] -> [B, H, N].
at::Tensor shifted(const at::Tensor& weights, const at::Tensor& shifts) {
  return shifts.narrow(2, 0, 1) * weights.roll(-1, 2) + shifts.narrow(2, 1, 1) * weights +
         shifts.narrow(2, 2, 1) * weights.roll(1, 2);
}

}  // namespace

void NtmConfig::check() const {
  check_product({{"controller", controller}, {"heads", heads}, {"width", width}});
  check_product({{"slots", slots}, {"heads", heads}});
  check_product({{"outputs", outputs}, {"heads", heads}, {"width", width}});
}

RecurrentNetwork::Layout Ntm::layout_of(const NtmConfig& config) {
  return {config.inputs,
          config.controller + config.heads * config.width,
          config.outputs,
          {{"memory", {config.slots, config.width}},
           {"weights", {2 * config.heads, config.slots}},
           {"reads", {config.heads, config.width}},
           {"hidden", {config.controller}},
           {"cell", {config.controller}}}};
}

Ntm::Ntm(const NtmConfig& config, std::optional<uint64_t> seed, at::Device device)
    : AddressedMemoryNetwork(
          config, config.heads * config.width,
          2 * config.heads * (config.width + kScalars + kShifts) + 2 * config.heads * config.width,
          device) {
  if (seed) initialise(*seed);
}

RecurrentNetwork::Parts Ntm::first_state(int64_t B) const {
  Parts state = StepwiseNetwork::first_state(B);
  state[kWeights] = state[kWeights].softmax(2);
  return state;
}

/// The weights of all heads (Graves et al. 2014, eq. 5-9): address [B, 2R, W + 6] as the controller
/// gives it, memory [B, N, W], before [B, 2R, N] -> [B, 2R, N].
at::Tensor Ntm::addressed(const at::Tensor& address, const at::Tensor& memory,
                          const at::Tensor& before) const {
  const auto parts = address.split_with_sizes({config_.width, 1, 1, kShifts, 1}, 2);
  const at::Tensor strengths = at::softplus(parts[1].squeeze(2));
  const at::Tensor content = ops::content_weights(parts[0], strengths, memory);
  const at::Tensor gated = at::addcmul(before, parts[2].sigmoid(), content - before);  // eq. 7
  const at::Tensor moved = shifted(gated, parts[3].softmax(2));
  // Eq. 9, w^sharpness / sum w^sharpness, by logarithms.
  const at::Tensor sharpness = 1 + at::softplus(parts[4]);
  return (sharpness * (moved + kLeastWeight).log()).softmax(2);
}

at::Tensor Ntm::advance(const at::Tensor& projected, Parts& state) {
  const int64_t B = projected.size(0), R = config_.heads, W = config_.width;
  const auto [hidden, cell] = controller_->step(
      projected, at::cat({state[kHidden], state[kReads].flatten(1)}, 1), state[kCell]);
  const int64_t address_width = W + kScalars + kShifts;
  const auto parts =
      interface_->forward(hidden).split_with_sizes({2 * R * address_width, R * W, R * W}, 1);
  const at::Tensor weights =
      addressed(parts[0].view({B, 2 * R, address_width}), state[kMemory], state[kWeights]);
  const at::Tensor memory =
      ops::erase_and_add(state[kMemory], weights.narrow(1, R, R),
                         parts[1].sigmoid().view({B, R, W}), parts[2].view({B, R, W}));
  const at::Tensor reads = ops::batched_product(weights.narrow(1, 0, R), memory);  // eq. 2
  state = {memory, weights, reads, hidden, cell};
  return at::cat({hidden, reads.flatten(1)}, 1);
}

}  // namespace tessera
