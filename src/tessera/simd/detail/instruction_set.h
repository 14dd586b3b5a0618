#pragma once

#include <string_view>

namespace tessera::simd {

/// What loops are built for. Each has everything that the ones before it have. kAvx512Vnni adds
/// products of bytes and counts of bits, kAvx512BFloat16 products in bfloat16, kAmx the tile unit
/// for such products.
enum class InstructionSet { kSse2, kAvx2, kAvx512, kAvx512Vnni, kAvx512BFloat16, kAmx };

/// "sse2", "avx2", "avx512", "avx512vnni", "avx512bf16" or "amx".
std::string_view name_of(InstructionSet set);
/// The one with this name. Throws UsageError, which lists the names, on another one.
InstructionSet named_instruction_set(std::string_view name);

/// The best that this processor has, or the one that the environment variable
/// TESSERA_INSTRUCTION_SET names, whichever is less. Every choice between builds of a loop depends
/// on it. It does not change while the program runs. Throws UsageError on a name that
/// does not exist.
InstructionSet instruction_set();

}  // namespace tessera::simd
