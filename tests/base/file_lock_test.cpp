#include "tessera/base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tessera/base/error.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::message_of;

TEST(FileLock, IsHeldByOneAtATime) {
  const test::TemporaryFolder folder;
  const auto path = folder / "lock";
  {
    const FileLock lock(path, "wait");
    EXPECT_EQ(message_of<std::runtime_error>([&] { FileLock(path, "wait"); }),
              path.native() + ": wait");
  }
  EXPECT_NO_THROW(FileLock(path, "wait"));
}

TEST(FileLock, EndsWithTheProcessThatHoldsIt) {
  const test::TemporaryFolder folder;
  const auto path = folder / "lock";
  test::Process holder(
      [&] {
        const FileLock lock(path, "wait");
        std::filesystem::create_directory(folder / "held");
        ::pause();
        return 0;
      },
      {});
  while (holder.running() && !std::filesystem::exists(folder / "held")) ::usleep(1000);
  EXPECT_THROW(FileLock(path, "wait"), std::runtime_error);
  holder.send(SIGKILL);
  holder.wait();
  EXPECT_NO_THROW(FileLock(path, "wait"));
}

TEST(FileLock, NeedsItsFolder) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(FileLock(folder / "none/lock", "wait"), SystemError);
}

}  // namespace
}  // namespace tessera
