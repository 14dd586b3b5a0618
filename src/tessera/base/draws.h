#pragma once

#include <cstddef>
#include <iterator>

#include "tessera/base/random.h"

namespace tessera {

/// Chance for those who tell simulated stories.
class Draws {
 public:
  explicit Draws(RandomStream random) : random_(random) {}

  RandomStream& random() { return random_; }
  /// One of several, each as likely.
  template <typename Items>
  const auto& pick(const Items& items) {
    return items[static_cast<size_t>(random_.below(std::size(items)))];
  }
  bool chance(double probability) { return random_.uniform() < probability; }

 private:
  RandomStream random_;
};

}  // namespace tessera
