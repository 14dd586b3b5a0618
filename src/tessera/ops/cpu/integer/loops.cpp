#include "tessera/ops/cpu/integer/loops.h"

#include <array>

namespace tessera::cpu {

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
  static const std::array<const IntegerLoops*, 5> runnable = [] {
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    const bool vnni =
        avx512 && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vpopcntdq");
    std::array<const IntegerLoops*, 5> found{};
    auto next = found.begin();
    if (vnni) *next++ = &avx512vnni::kIntegerLoops;
    if (avx512) *next++ = &avx512::kIntegerLoops;
    if (avx2) *next++ = &avx2::kIntegerLoops;
    *next++ = &sse2::kIntegerLoops;
    return found;
  }();
  return runnable.data();
}

const IntegerLoops& integer_loops() {
  return *all_integer_loops()[0];
}

}  // namespace tessera::cpu
