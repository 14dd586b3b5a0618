#pragma once

#include "tessera/simd/instruction_set.h"

/// Declares the loop `name` over `Arguments`: cpu::name(arguments) runs it. It is called only where
/// ops/detail/dispatch.h says so. Each <file>.isa.cpp defines loops of <file>.h, once for AVX2 and
/// once for AVX-512; other architectures have none. They run on OpenMP's threads; their results do
/// not depend on how many those are.
#define TESSERA_LOOP(name, Arguments)                                                      \
  TESSERA_X86(TESSERA_BUILD(avx2, name, Arguments) TESSERA_BUILD(avx512, name, Arguments)) \
  inline constexpr simd::Loop<Arguments, 0 TESSERA_X86(+2)> name = {TESSERA_X86(           \
      {{simd::InstructionSet::kAvx2, avx2::name}, {simd::InstructionSet::kAvx512, avx512::name}})}
