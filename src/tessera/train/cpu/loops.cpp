#include "tessera/train/cpu/loops.h"

#include "tessera/simd/builds.h"

namespace tessera::train::cpu {

namespace sse2 {
extern const Loops kLoops;
}
namespace avx2 {
extern const Loops kLoops;
}
namespace avx512 {
extern const Loops kLoops;
}
namespace {

using simd::InstructionSet;

constexpr simd::Build<Loops> kBuilds[] = {{InstructionSet::kSse2, &sse2::kLoops},
                                          {InstructionSet::kAvx2, &avx2::kLoops},
                                          {InstructionSet::kAvx512, &avx512::kLoops}};

}  // namespace

const Loops& loops() {
  return *simd::fastest<Loops>(kBuilds);
}

}  // namespace tessera::train::cpu
