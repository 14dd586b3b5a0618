#include "tessera/memo/cpu/loops.h"

namespace tessera::memo::cpu {

namespace sse2 {
extern const IntegerLoops kIntegerLoops;
}
namespace avx2 {
extern const IntegerLoops kIntegerLoops;
}
namespace avx512 {
extern const IntegerLoops kIntegerLoops;
}
namespace avx512vnni {
extern const IntegerLoops kIntegerLoops;
}
namespace {

using simd::InstructionSet;

constexpr simd::Build<IntegerLoops> kBuilds[] = {
    {InstructionSet::kSse2, &sse2::kIntegerLoops},
    {InstructionSet::kAvx2, &avx2::kIntegerLoops},
    {InstructionSet::kAvx512, &avx512::kIntegerLoops},
    {InstructionSet::kAvx512Vnni, &avx512vnni::kIntegerLoops}};

}  // namespace

const IntegerLoops& integer_loops() {
  return *simd::fastest<IntegerLoops>(kBuilds);
}

std::span<const simd::Build<IntegerLoops>> runnable_integer_loops() {
  return simd::runnable<IntegerLoops>(kBuilds);
}

}  // namespace tessera::memo::cpu
