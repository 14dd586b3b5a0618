#include "tessera/simd/instruction_set.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "tessera/base/error.h"

namespace tessera::simd {
namespace {

InstructionSet of_this_cpu() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return InstructionSet::kSse2;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
    return InstructionSet::kAvx2;
  if (!__builtin_cpu_supports("avx512vnni") || !__builtin_cpu_supports("avx512vpopcntdq"))
    return InstructionSet::kAvx512;
  return InstructionSet::kAvx512Vnni;
}

/// The most that the environment allows.
InstructionSet allowed() {
  static constexpr std::array<std::string_view, 4> kNames = {"sse2", "avx2", "avx512",
                                                             "avx512vnni"};
  const char* wanted = std::getenv("TESSERA_INSTRUCTION_SET");
  if (wanted == nullptr || *wanted == '\0') return InstructionSet::kAvx512Vnni;
  const auto* name = std::ranges::find(kNames, std::string_view(wanted));
  check_argument(name != kNames.end(),
                 "TESSERA_INSTRUCTION_SET is '{}', expected sse2, avx2, avx512 or avx512vnni",
                 wanted);
  return static_cast<InstructionSet>(name - kNames.begin());
}

}  // namespace

InstructionSet instruction_set() {
  static const InstructionSet found = std::min(of_this_cpu(), allowed());
  return found;
}

}  // namespace tessera::simd
