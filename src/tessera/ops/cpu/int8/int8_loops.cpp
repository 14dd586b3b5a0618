#include "tessera/ops/cpu/int8/int8_products.h"
#include "tessera/simd/builds.h"

namespace tessera::ops::cpu {

namespace avx2 {
extern const Int8Loops kInt8Loops;
}
namespace avx512 {
extern const Int8Loops kInt8Loops;
}
namespace avx512vnni {
extern const Int8Loops kInt8Loops;
}
namespace {

using simd::InstructionSet;

constexpr simd::Build<Int8Loops> kInt8Builds[] = {
    {InstructionSet::kAvx2, &avx2::kInt8Loops},
    {InstructionSet::kAvx512, &avx512::kInt8Loops},
    {InstructionSet::kAvx512Vnni, &avx512vnni::kInt8Loops}};

}  // namespace

const Int8Loops* int8_loops() {
  return simd::fastest<Int8Loops>(kInt8Builds);
}

}  // namespace tessera::ops::cpu
