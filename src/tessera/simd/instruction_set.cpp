#include "tessera/simd/instruction_set.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <array>
#include <cstdlib>

#include "tessera/base/config.h"

namespace tessera::simd {
namespace {

#ifdef __x86_64__
constexpr std::string_view kBaselineName = "sse2";
#else
constexpr std::string_view kBaselineName = "neon";
#endif
constexpr std::array<std::string_view, 6> kNames = {kBaselineName, "avx2",       "avx512",
                                                    "avx512vnni",  "avx512bf16", "amx"};

#ifdef __x86_64__
/// Whether the processor has the AMX tile unit and Linux (since 5.16) lets this process use it.
bool may_use_tiles() {
  constexpr unsigned kNeeded =
      1u << 22 | 1u << 24 | 1u << 25;  // products in bfloat16, tiles, bytes
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
  if ((edx & kNeeded) != kNeeded) return false;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

/// The best that this processor has, up to `limit`: beyond it nothing is asked for.
InstructionSet of_this_processor(InstructionSet limit) {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return InstructionSet::kBaseline;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
    return InstructionSet::kAvx2;
  if (!__builtin_cpu_supports("avx512vnni") || !__builtin_cpu_supports("avx512vpopcntdq"))
    return InstructionSet::kAvx512;
  if (!__builtin_cpu_supports("avx512bf16")) return InstructionSet::kAvx512Vnni;
  if (limit < InstructionSet::kAmx || !may_use_tiles()) return InstructionSet::kAvx512BFloat16;
  return InstructionSet::kAmx;
}

bool is_of_intel() {
  __builtin_cpu_init();
  return __builtin_cpu_is("intel");
}

#else

InstructionSet of_this_processor(InstructionSet) {
  return InstructionSet::kBaseline;
}

bool is_of_intel() {
  return false;
}
#endif

InstructionSet allowed_by_environment() {
  const char* name = std::getenv("TESSERA_INSTRUCTION_SET");
  return name == nullptr || *name == '\0' ? InstructionSet::kAmx : named_instruction_set(name);
}

}  // namespace

const bool kFetchAhead = is_of_intel();

std::string_view name_of(InstructionSet set) {
  return kNames.at(static_cast<size_t>(set));
}

InstructionSet named_instruction_set(std::string_view name) {
  return static_cast<InstructionSet>(
      config::index_of_name(kNames, name, "TESSERA_INSTRUCTION_SET"));
}

InstructionSet instruction_set() {
  static const InstructionSet found = [] {
    const InstructionSet limit = allowed_by_environment();
    return std::min(of_this_processor(limit), limit);
  }();
  return found;
}

}  // namespace tessera::simd
