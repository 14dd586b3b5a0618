#include "tessera/ops/cpu/loops.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tessera/simd/instruction_set.h"

namespace tessera::cpu {

namespace avx2 {
extern const Loops kLoops;
}
namespace avx512 {
extern const Loops kLoops;
}
namespace amx {
extern const Loops kLoops;
}
namespace {

/// Whether the CPU has the AMX tile unit and Linux (since 5.16) lets this process use it.
bool may_use_tiles() {
  constexpr unsigned kBFloat16Products = 1u << 22, kTiles = 1u << 24;  // leaf 7, edx
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
  if ((edx & kBFloat16Products) == 0 || (edx & kTiles) == 0) return false;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

const Loops* loops() {
  switch (simd::instruction_set()) {
    case simd::InstructionSet::kSse2:
      return nullptr;
    case simd::InstructionSet::kAvx2:
      return &avx2::kLoops;
    case simd::InstructionSet::kAvx512:
    case simd::InstructionSet::kAvx512Vnni:
      return &avx512::kLoops;
  }
  return nullptr;
}

const Loops* bfloat16_loops() {
  static const Loops* const found =
      loops() == &avx512::kLoops && __builtin_cpu_supports("avx512bf16") && may_use_tiles()
          ? &amx::kLoops
          : nullptr;
  return found;
}

}  // namespace tessera::cpu
