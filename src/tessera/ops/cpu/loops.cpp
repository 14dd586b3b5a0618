#include "tessera/ops/cpu/loops.h"

#include "tessera/simd/builds.h"

namespace tessera::ops::cpu {

namespace avx2 {
extern const Loops kLoops;
}
namespace avx512 {
extern const Loops kLoops;
}
namespace {

using simd::InstructionSet;

constexpr simd::Build<Loops> kFloatBuilds[] = {{InstructionSet::kAvx2, &avx2::kLoops},
                                               {InstructionSet::kAvx512, &avx512::kLoops}};

}  // namespace

const Loops* loops() {
  return simd::fastest<Loops>(kFloatBuilds);
}

}  // namespace tessera::ops::cpu
