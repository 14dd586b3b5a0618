#include "lab/baseline/recurrent_block_network.h"

#include <ATen/ATen.h>

namespace tessera {

at::Tensor RecurrentBlock::forward(at::Tensor x, std::optional<uint64_t> dropout_seed) {
  x = x + with_dropout(remember(x, State{}).first, dropout_, dropout_seed, 0);
  return x + with_dropout(feed_forward(x), dropout_, dropout_seed, 1);
}

std::pair<at::Tensor, TensorState> RecurrentBlock::read(at::Tensor x, const State& state) {
  auto [branch, next] = remember(x, state);
  x = x + branch;
  return {x + feed_forward(x), std::move(next)};
}

void RecurrentBlock::check_state(const State& state, int64_t batch) const {
  state.check(state_, batch, kind_);
}

TensorState RecurrentBlock::state_from(const TensorFile& file, const std::string& prefix,
                                       PairOptions) const {
  return TensorState::from(file, state_, prefix);
}

}  // namespace tessera
