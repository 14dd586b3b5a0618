#include "tessera/simd/instruction_set.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

namespace tessera::simd {
namespace {

constexpr InstructionSet kAll[] = {InstructionSet::kBaseline,       InstructionSet::kAvx2,
                                   InstructionSet::kAvx512,         InstructionSet::kAvx512Vnni,
                                   InstructionSet::kAvx512BFloat16, InstructionSet::kAmx};

TEST(InstructionSets, HaveNames) {
  for (const InstructionSet set : kAll) EXPECT_EQ(named_instruction_set(name_of(set)), set);
  EXPECT_EQ(name_of(InstructionSet::kAvx512Vnni), "avx512vnni");
}

TEST(InstructionSets, OfAnotherNameAreRefused) {
  EXPECT_EQ(test::message_of<UsageError>([] { named_instruction_set("AVX2"); }),
            fmt::format("TESSERA_INSTRUCTION_SET is 'AVX2', expected one of: {}, avx2, avx512, "
                        "avx512vnni, avx512bf16, amx",
                        name_of(InstructionSet::kBaseline)));
}

TEST(InstructionSets, AreLimitedByTheEnvironment) {
  const char* name = std::getenv("TESSERA_INSTRUCTION_SET");
  if (name == nullptr || *name == '\0') GTEST_SKIP() << "TESSERA_INSTRUCTION_SET is not set";
  EXPECT_LE(instruction_set(), named_instruction_set(name));
}

/// Exits with what a fresh process finds under this environment: the number of the set, 99 where it
/// refuses the name, 98 where a later change of the environment makes a difference.
[[noreturn]] void exit_with_instruction_set(const char* name) {
  ::setenv("TESSERA_INSTRUCTION_SET", name, 1);
  try {
    const InstructionSet found = instruction_set();
    ::setenv("TESSERA_INSTRUCTION_SET", "avx9", 1);
    std::exit(instruction_set() == found ? static_cast<int>(found) : 98);
  } catch (const UsageError& error) {
    std::fputs(error.what(), stderr);
    std::exit(99);
  }
}

TEST(InstructionSetsDeathTest, AreReadFromTheEnvironmentOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // runs the program again
  EXPECT_EXIT(exit_with_instruction_set(name_of(InstructionSet::kBaseline).data()),
              testing::ExitedWithCode(0), "");
  EXPECT_EXIT(exit_with_instruction_set("avx9"), testing::ExitedWithCode(99),
              "'avx9', expected one of");
}

struct Number {
  int* build;
};

template <int number>
void write(const Number& argument) {
  *argument.build = number;
}

TEST(Loop, RunsItsBestBuildUpToTheInstructionSet) {
  const Loop<Number, 5> loop = {{{kAll[0], write<0>},
                                 {kAll[1], write<1>},
                                 {kAll[2], write<2>},
                                 {kAll[3], write<3>},
                                 {kAll[4], write<4>}}};
  int build = -1;
  for (int k = 0; k < 5; ++k) {
    loop({&build}, kAll[k]);
    EXPECT_EQ(build, k);
  }
  loop({&build});
  EXPECT_EQ(build, std::min(static_cast<int>(instruction_set()), 4));
  // Where there is no build for exactly this set, the next one below it runs.
  const Loop<Number, 2> gaps = {
      {{InstructionSet::kBaseline, write<0>}, {InstructionSet::kAvx512, write<2>}}};
  gaps({&build}, InstructionSet::kAvx2);
  EXPECT_EQ(build, 0);
  gaps({&build}, InstructionSet::kAmx);
  EXPECT_EQ(build, 2);
}

TEST(Loop, MayBeForNewerProcessorsOnly) {
  const Loop<Number, 1> loop = {{{InstructionSet::kAmx, write<0>}}};
  EXPECT_EQ(loop.runs_here(), instruction_set() == InstructionSet::kAmx);
}

}  // namespace
}  // namespace tessera::simd
