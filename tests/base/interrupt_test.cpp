#include "tessera/base/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

namespace tessera {
namespace {

TEST(InterruptGuard, TurnsTheFirstSignalIntoAFlag) {
  for (int signal_number : {SIGINT, SIGTERM}) {
    InterruptGuard guard;
    EXPECT_FALSE(InterruptGuard::interrupted());
    std::raise(signal_number);
    EXPECT_TRUE(InterruptGuard::interrupted());
  }
  InterruptGuard next;
  EXPECT_FALSE(InterruptGuard::interrupted());
}

TEST(InterruptGuardDeathTest, TheSecondSignalAndOneWithoutGuardEndTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        InterruptGuard guard;
        std::raise(SIGINT);
        std::raise(SIGINT);
        std::exit(0);
      },
      testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(
      {
        { InterruptGuard guard; }
        std::raise(SIGTERM);
        std::exit(0);
      },
      testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace tessera
