#include "tessera/memo/cpu/loops.h"

#include <array>

#include "tessera/simd/instruction_set.h"

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

const IntegerLoops* const* all_integer_loops() {
  static constexpr std::array<const IntegerLoops*, 5> kBestFirst = {
      &avx512vnni::kIntegerLoops, &avx512::kIntegerLoops, &avx2::kIntegerLoops,
      &sse2::kIntegerLoops, nullptr};
  const auto best = static_cast<int>(simd::instruction_set());
  return kBestFirst.data() + (static_cast<int>(simd::InstructionSet::kAvx512Vnni) - best);
}

const IntegerLoops& integer_loops() {
  return *all_integer_loops()[0];
}

}  // namespace tessera::memo::cpu
