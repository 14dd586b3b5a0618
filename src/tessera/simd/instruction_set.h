#pragma once

#include <cstdlib>
#include <string_view>

namespace tessera::simd {

/// What loops are built for. Each has everything that the ones before it have. kBaseline is what
/// every processor has: vectors of 16 bytes, SSE2 on x86-64 and NEON on 64-bit Arm. kAvx512Vnni
/// adds products of bytes and counts of bits, kAvx512BFloat16 products in bfloat16, kAmx the tile
/// unit for both products.
enum class InstructionSet { kBaseline, kAvx2, kAvx512, kAvx512Vnni, kAvx512BFloat16, kAmx };

/// "sse2" (on Arm "neon"), "avx2", "avx512", "avx512vnni", "avx512bf16" or "amx".
std::string_view name_of(InstructionSet set);
/// The one with this name. Throws UsageError, which lists the names, on another one.
InstructionSet named_instruction_set(std::string_view name);

/// The best that this processor has, or the one that the environment variable
/// TESSERA_INSTRUCTION_SET names, whichever is less. Every choice between builds of a loop depends
/// on it. It does not change while the program runs. Throws UsageError on a name that
/// does not exist.
InstructionSet instruction_set();

/// Whether loops ask some way ahead for memory that they read once from one end to the other for
/// one vector alone. Processors of Intel foresee too little of it by themselves. On a Zen 4 asking
/// costs a third of the speed with weights of 8 bits and a fifth with 16.
extern const bool kFetchAhead;

/// A loop over `Arguments` in its builds, the least instruction set first. Each is compiled from
/// the same *.isa.cpp file, into the namespace of its set (cmake/Room.cmake).
template <typename Arguments, int count>
struct Loop {
  struct Build {
    InstructionSet set;
    void (*run)(const Arguments&);
  };
  Build builds[count];

  /// Whether any of them may run here.
  bool runs_here() const { return builds[0].set <= instruction_set(); }

  /// Runs the best build up to `limit`; there must be one. Always inlined: *.isa.cpp files call it,
  /// and what they compile must not serve others.
  [[gnu::always_inline]] void operator()(const Arguments& arguments,
                                         InstructionSet limit = instruction_set()) const {
    int best = count - 1;
    while (builds[best].set > limit) --best;
    builds[best].run(arguments);
  }
};

/// A loop without any build on this architecture.
template <typename Arguments>
struct Loop<Arguments, 0> {
  bool runs_here() const { return false; }
  [[noreturn]] void operator()(const Arguments&, InstructionSet = {}) const { std::abort(); }
};

/// Declares the build for one instruction set of the loop `name` over `Arguments`. Rooms with loops
/// say in <room>/cpu/loop.h which sets these are, or take TESSERA_SERIAL_LOOP.
#define TESSERA_BUILD(set, name, Arguments) \
  namespace set {                           \
  void name(const Arguments&);              \
  }

/// What is there for x86-64 only.
#ifdef __x86_64__
#define TESSERA_X86(...) __VA_ARGS__
#else
#define TESSERA_X86(...)
#endif

/// Declares the loop `name` over `Arguments`, which runs on the calling thread: built for the
/// baseline, AVX2 and AVX-512.
#define TESSERA_SERIAL_LOOP(name, Arguments)                                               \
  TESSERA_BUILD(baseline, name, Arguments)                                                 \
  TESSERA_X86(TESSERA_BUILD(avx2, name, Arguments) TESSERA_BUILD(avx512, name, Arguments)) \
  inline constexpr simd::Loop<Arguments, 1 TESSERA_X86(+2)> name = {                       \
      {{simd::InstructionSet::kBaseline, baseline::name},                                  \
       TESSERA_X86({simd::InstructionSet::kAvx2, avx2::name},                              \
                   {simd::InstructionSet::kAvx512, avx512::name})}}

}  // namespace tessera::simd
