#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tessera {

/// Along what the learning rate falls: half a cosine, or a line.
enum class Decay { kCosine, kLinear };
constexpr std::array<std::string_view, 2> enum_names(Decay) {
  return {"cosine", "linear"};
}

/// How the learning rate goes over a training: up in a line, down along half a cosine, then level
/// (Loshchilov & Hutter 2017, one period; with the warm-up of the Memory Mosaics experiments). Or
/// down in a line.
struct Schedule {
  double learning_rate;      ///< at the top
  double min_learning_rate;  ///< from decay_steps on
  int64_t warmup_steps;      ///< 0: starts at the top
  int64_t decay_steps;       ///< the step that first has the minimum; above warmup_steps
  Decay decay = Decay::kCosine;

  /// The rate of the update that has `step` updates before it:
  ///     step < warmup_steps    learning_rate * step / warmup_steps
  ///     step <= decay_steps    min + (learning_rate - min) * (1 + cos(pi * share)) / 2, or
  ///                            min + (learning_rate - min) * (1 - share),
  ///                            share = (step - warmup_steps) / (decay_steps - warmup_steps)
  ///     later                  min_learning_rate
  /// So the first update of a warm-up has the rate 0: it moves no weight and only starts the
  /// moments, as in the reference. Throws UsageError where step < 0.
  double at(int64_t step) const;
};

}  // namespace tessera
