#pragma once

#include "tessera/simd/instruction_set.h"

/// Declares the loop `name` over `Arguments`: cpu::name(arguments) runs it. Each <file>.isa.cpp
/// defines loops of <file>.h, once for each of these instruction sets; all give the same bits. They
/// run on OpenMP's threads; their results do not depend on how many those are.
#define TESSERA_INTEGER_LOOP(name, Arguments)                                             \
  TESSERA_BUILD(baseline, name, Arguments)                                                \
  TESSERA_X86(TESSERA_BUILD(avx2, name, Arguments) TESSERA_BUILD(avx512, name, Arguments) \
                  TESSERA_BUILD(avx512vnni, name, Arguments))                             \
  inline constexpr simd::Loop<Arguments, 1 TESSERA_X86(+3)> name = {                      \
      {{simd::InstructionSet::kBaseline, baseline::name},                                 \
       TESSERA_X86({simd::InstructionSet::kAvx2, avx2::name},                             \
                   {simd::InstructionSet::kAvx512, avx512::name},                         \
                   {simd::InstructionSet::kAvx512Vnni, avx512vnni::name})}}
