#pragma once

namespace tessera::simd {

/// What loops are built for, each with all that stands before it. kAvx512Vnni has the products of
/// bytes and the counts of bits, too.
enum class InstructionSet { kSse2, kAvx2, kAvx512, kAvx512Vnni };

/// The best that this CPU has, or the one named by the environment variable TESSERA_INSTRUCTION_SET
/// (sse2, avx2, avx512 or avx512vnni) where that is less. Throws std::invalid_argument on another
/// name.
InstructionSet instruction_set();

}  // namespace tessera::simd
