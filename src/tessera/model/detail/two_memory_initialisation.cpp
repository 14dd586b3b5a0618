#include "tessera/model/detail/two_memory_initialisation.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

namespace tessera {

void initialise_memories(TwoMemoryCell& cell, Initialiser& draw) {
  at::NoGradGuard no_grad;
  const TwoMemoryOptions& options = cell->options();
  const double D = static_cast<double>(options.width), N = static_cast<double>(options.slots);
  const double item_bound = 1 / std::sqrt(2 * D), relational_bound = 1 / std::sqrt(2 * D + N);
  draw.uniform(cell->item->initial, -item_bound, item_bound);
  draw.uniform(cell->relational->initial, -relational_bound, relational_bound);
  if (options.gated) {
    cell->item->input_bias.zero_();
    cell->item->forget_bias.fill_(1);
  }
  cell->self_attention->norm_weight.fill_(1);
  cell->self_attention->norm_bias.zero_();
  cell->relational->alpha1.fill_(options.alpha1.value);
  cell->relational->alpha2.fill_(options.alpha2.value);
  cell->relational->alpha3.fill_(options.alpha3.value);
}

}  // namespace tessera
