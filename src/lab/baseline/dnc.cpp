#include "lab/baseline/dnc.h"

#include <ATen/ATen.h>
#include <c10/util/accumulate.h>

#include "tessera/ops/batched_product.h"

namespace tessera {
namespace {

constexpr int64_t kModes = 3;         // backward, content, forward
constexpr double kLeastUsage = 1e-6;  // so that the product below has a gradient where usage is 0

/// Widths of what the controller asks, in the order of Dnc::Requests.
std::vector<int64_t> interface_sizes(const DncConfig& config) {
  const int64_t R = config.read_heads, W = config.width;
  return {R * W, R, W, 1, W, W, R, 1, 1, kModes * R};
}

at::Tensor one_plus(const at::Tensor& x) {
  return 1 + at::softplus(x);
}

/// Which rows are free to be written, the least used first (Graves et al. 2016, "Dynamic memory
/// allocation"): with the rows in the order of their usage u, a_j = (1 - u_j) prod_{i<j} u_i. usage
/// [B, N] -> [B, N]. The order itself is taken as constant in the gradient, as there.
at::Tensor allocation(const at::Tensor& usage) {
  // Differs from Graves et al. 2016: 1e-6 <= u, as in deepmind/dnc.
  const auto [sorted, rows] = at::sort(kLeastUsage + (1 - kLeastUsage) * usage,
                                       /*stable=*/true, /*dim=*/1, /*descending=*/false);
  const at::Tensor products = sorted.cumprod(1);
  const at::Tensor before = at::cat(
      {at::ones_like(products.narrow(1, 0, 1)), products.narrow(1, 0, usage.size(1) - 1)}, 1);
  return at::zeros_like(usage).scatter(1, rows, (1 - sorted) * before);
}

/// L_ij: how much row i was written right after row j ("Temporal memory linkage"). links [B, N, N],
/// write_weights, precedence [B, N] -> [B, N, N].
at::Tensor next_links(const at::Tensor& links, const at::Tensor& write_weights,
                      const at::Tensor& precedence) {
  const at::Tensor to = write_weights.unsqueeze(2), from = write_weights.unsqueeze(1);
  const at::Tensor next = (1 - to - from) * links + to * precedence.unsqueeze(1);
  const int64_t N = links.size(1);
  return next.masked_fill(at::eye(N, links.options().dtype(at::kBool)), 0);
}

}  // namespace

struct Dnc::Requests {
  at::Tensor read_keys;                    // [B, R, W]
  at::Tensor read_strengths;               // [B, R], at least 1
  at::Tensor write_key;                    // [B, 1, W]
  at::Tensor write_strength;               // [B, 1], at least 1
  at::Tensor erase, add;                   // [B, 1, W]
  at::Tensor free_gates;                   // [B, R, 1]: whether what was read may be forgotten
  at::Tensor allocation_gate, write_gate;  // [B, 1]
  at::Tensor read_modes;                   // [B, R, 3]: backward, content, forward
};

void DncConfig::check() const {
  check_product({{"controller", controller}, {"read_heads", read_heads}, {"width", width}});
  check_product({{"outputs", outputs}, {"read_heads", read_heads}, {"width", width}});
}

RecurrentNetwork::Layout Dnc::layout_of(const DncConfig& config) {
  const int64_t N = config.slots, W = config.width, R = config.read_heads;
  return {config.inputs,
          config.controller + R * W,
          config.outputs,
          {{"memory", {N, W}},
           {"usage", {N}, /*learned=*/false},
           {"precedence", {N}, false},
           {"links", {N, N}, false},
           {"write_weights", {N}, false},
           {"read_weights", {R, N}, false},
           {"reads", {R, W}},
           {"hidden", {config.controller}},
           {"cell", {config.controller}}}};
}

Dnc::Dnc(const DncConfig& config, std::optional<uint64_t> seed, at::Device device)
    : AddressedMemoryNetwork(config, config.read_heads * config.width,
                             c10::sum_integers(interface_sizes(config)), device) {
  if (seed) initialise(*seed);
}

Dnc::Requests Dnc::requests(const at::Tensor& hidden) {
  const int64_t B = hidden.size(0), R = config_.read_heads, W = config_.width;
  const auto parts = interface_->forward(hidden).split_with_sizes(interface_sizes(config_), 1);
  return {parts[0].view({B, R, W}),
          one_plus(parts[1]),
          parts[2].unsqueeze(1),
          one_plus(parts[3]),
          parts[4].sigmoid().unsqueeze(1),
          parts[5].unsqueeze(1),
          parts[6].sigmoid().unsqueeze(2),
          parts[7].sigmoid(),
          parts[8].sigmoid(),
          parts[9].view({B, R, kModes}).softmax(2)};
}

/// Frees what was read and is no longer needed, chooses rows and writes them.
void Dnc::write_memory(const Requests& wanted, Parts& state) const {
  const at::Tensor retention = (1 - wanted.free_gates * state[kReadWeights]).prod(1);  // [B, N]
  const at::Tensor& written = state[kWriteWeights];
  const at::Tensor usage = (state[kUsage] + written - state[kUsage] * written) * retention;
  const at::Tensor content =
      ops::content_weights(wanted.write_key, wanted.write_strength, state[kMemory]).squeeze(1);
  const at::Tensor weights =
      wanted.write_gate * at::addcmul(content, wanted.allocation_gate, allocation(usage) - content);
  state[kUsage] = usage;
  state[kWriteWeights] = weights;
  state[kMemory] =
      ops::erase_and_add(state[kMemory], weights.unsqueeze(1), wanted.erase, wanted.add);
  state[kLinks] = next_links(state[kLinks], weights, state[kPrecedence]);
  state[kPrecedence] = (1 - weights.sum(1, /*keepdim=*/true)) * state[kPrecedence] + weights;
}

/// Moves the read heads along the links or to a content, and reads.
void Dnc::read_memory(const Requests& wanted, Parts& state) const {
  const at::Tensor &links = state[kLinks], &before = state[kReadWeights];
  const at::Tensor content =
      ops::content_weights(wanted.read_keys, wanted.read_strengths, state[kMemory]);
  const auto modes = wanted.read_modes.split(1, 2);  // [B, R, 1] each
  state[kReadWeights] = modes[0] * ops::batched_product(before, links) + modes[1] * content +
                        modes[2] * ops::batched_product(before, links.transpose(1, 2));
  state[kReads] = ops::batched_product(state[kReadWeights], state[kMemory]);
}

at::Tensor Dnc::advance(const at::Tensor& projected, Parts& state) {
  const auto [hidden, cell] = controller_->step(
      projected, at::cat({state[kHidden], state[kReads].flatten(1)}, 1), state[kCell]);
  const Requests wanted = requests(hidden);
  write_memory(wanted, state);
  read_memory(wanted, state);
  state[kHidden] = hidden;
  state[kCell] = cell;
  return at::cat({hidden, state[kReads].flatten(1)}, 1);
}

}  // namespace tessera
