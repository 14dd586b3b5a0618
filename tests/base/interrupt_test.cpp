#include "tessera/base/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "tessera/base/error.h"

namespace tessera {
namespace {

volatile std::sig_atomic_t noted = 0;

TEST(InterruptGuard, TurnsTheFirstSignalIntoAFlag) {
  for (int signal_number : {SIGINT, SIGTERM}) {
    InterruptGuard guard;
    EXPECT_FALSE(InterruptGuard::interrupted());
    std::raise(signal_number);
    EXPECT_TRUE(InterruptGuard::interrupted());
  }
  EXPECT_FALSE(InterruptGuard::interrupted());
  InterruptGuard next;
  EXPECT_FALSE(InterruptGuard::interrupted());
}

TEST(InterruptGuard, AnInnerOneKeepsTheSignalForTheOuterOne) {
  InterruptGuard outer;
  {
    InterruptGuard inner;
    std::raise(SIGINT);
    EXPECT_TRUE(InterruptGuard::interrupted());
  }
  EXPECT_TRUE(InterruptGuard::interrupted());
  InterruptGuard later;
  EXPECT_TRUE(InterruptGuard::interrupted());
}

TEST(InterruptGuard, StopsWithTheMessageOnlyAfterASignal) {
  InterruptGuard guard;
  EXPECT_NO_THROW(InterruptGuard::stop_if_interrupted("stopped"));
  std::raise(SIGTERM);
  EXPECT_THROW(InterruptGuard::stop_if_interrupted("stopped"), Interrupted);
}

void note_signal(int signal_number) {
  noted = signal_number;
}

TEST(InterruptGuard, LeavesTheSignalsAsTheyWere) {
  const auto before = std::signal(SIGTERM, note_signal);
  {
    InterruptGuard guard;
    std::raise(SIGTERM);
    EXPECT_EQ(noted, 0);
  }
  std::raise(SIGTERM);
  EXPECT_EQ(noted, SIGTERM) << "the application's own handler";
  std::signal(SIGTERM, before);
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
        InterruptGuard guard;
        std::raise(SIGINT);
        InterruptGuard inner;
        std::raise(SIGTERM);
        std::exit(0);
      },
      testing::KilledBySignal(SIGTERM), "");
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
