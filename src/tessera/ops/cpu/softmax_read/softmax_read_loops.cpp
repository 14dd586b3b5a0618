#include "tessera/ops/cpu/softmax_read/softmax_read.h"
#include "tessera/simd/builds.h"

namespace tessera::ops::cpu {

namespace avx2 {
extern const SoftmaxReadLoops kSoftmaxReadLoops;
}
namespace avx512 {
extern const SoftmaxReadLoops kSoftmaxReadLoops;
}
namespace avx512bf16 {
extern const SoftmaxReadLoops kSoftmaxReadLoops;
}
namespace amx {
extern const SoftmaxReadLoops kSoftmaxReadLoops;
}
namespace {

using simd::InstructionSet;

constexpr simd::Build<SoftmaxReadLoops> kFloatReadBuilds[] = {
    {InstructionSet::kAvx2, &avx2::kSoftmaxReadLoops},
    {InstructionSet::kAvx512, &avx512::kSoftmaxReadLoops}};
constexpr simd::Build<SoftmaxReadLoops> kBFloat16ReadBuilds[] = {
    {InstructionSet::kAvx512BFloat16, &avx512bf16::kSoftmaxReadLoops},
    {InstructionSet::kAmx, &amx::kSoftmaxReadLoops}};

}  // namespace

const SoftmaxReadLoops* float_read_loops() {
  return simd::fastest<SoftmaxReadLoops>(kFloatReadBuilds);
}

const SoftmaxReadLoops* bfloat16_read_loops() {
  return simd::fastest<SoftmaxReadLoops>(kBFloat16ReadBuilds);
}

}  // namespace tessera::ops::cpu
