#include "tessera/base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <csignal>
#include <set>

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

const test::TemporaryFolder* replaced_folder = nullptr;
volatile std::sig_atomic_t replaced = 0;

/// As a writer that makes the folder anew: it takes the lock, and puts a file that it has locked in
/// the place of this one.
void replace_lock(int) {
  const auto path = *replaced_folder / "lock", other = *replaced_folder / "other";
  const int old = ::open(path.c_str(), O_RDWR | O_CREAT, 0644);
  if (::flock(old, LOCK_EX | LOCK_NB) == 0) {
    const int own = ::open(other.c_str(), O_RDWR | O_CREAT, 0644);
    replaced = ::flock(own, LOCK_EX | LOCK_NB) == 0 && ::rename(other.c_str(), path.c_str()) == 0;
  }
  ::close(old);
}

TEST(FileLock, IsThatOfTheFileWhichIsThere) {
  std::set<int> outcomes;
  for (int64_t call = 0; call < 16; ++call) {  // in which the other writer comes
    const test::TemporaryFolder folder;
    replaced_folder = &folder;
    test::Process writer(
        [&] {
          ::signal(SIGUSR1, replace_lock);
          bool locked = true;
          try {
            const FileLock lock(folder / "lock", "wait");
            ::signal(SIGUSR1, SIG_IGN);  // while it is held
          } catch (const std::runtime_error&) {
            locked = false;
          }
          return locked + 2 * replaced;
        },
        {.system_calls = call, .signal_number = SIGUSR1});
    const int status = writer.wait().status;
    if (status == 127) GTEST_SKIP() << "this machine does not let a process follow another one";
    outcomes.insert(status);
    ASSERT_NE(status, 3) << "two hold it after call " << call;
  }
  EXPECT_TRUE(outcomes.contains(1));
  EXPECT_TRUE(outcomes.contains(2));
}

TEST(FileLock, NeedsItsFolder) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(FileLock(folder / "none/lock", "wait"), SystemError);
}

}  // namespace
}  // namespace tessera
