#pragma once

#include <span>

#include "tessera/simd/detail/instruction_set.h"

namespace tessera::simd {

/// One table of loops as it was built for one instruction set. A room that has loops lists its
/// builds, the least instruction set first, in <room>/cpu/loops.cpp.
template <typename Loops>
struct Build {
  InstructionSet set;
  const Loops* loops;
};

/// Those of the builds that may run here: the ones up to instruction_set().
template <typename Loops>
std::span<const Build<Loops>> runnable(std::span<const Build<Loops>> builds) {
  size_t count = 0;
  while (count < builds.size() && builds[count].set <= instruction_set()) ++count;
  return builds.first(count);
}

/// The best of those, or null where there is none.
template <typename Loops>
const Loops* fastest(std::span<const Build<Loops>> builds) {
  const std::span<const Build<Loops>> candidates = runnable(builds);
  return candidates.empty() ? nullptr : candidates.back().loops;
}

}  // namespace tessera::simd
