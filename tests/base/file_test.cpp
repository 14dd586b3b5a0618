#include "tessera/base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <optional>
#include <set>

#include "tessera/base/error.h"
#include "tessera/base/new_folder.h"
#include "tests/support/largest_file.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::message_of;
using test::TemporaryFolder;
using testing::HasSubstr;

size_t entries(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

TEST(AtomicFile, AppearsWholeOrNotAtAll) {
  const TemporaryFolder folder;
  const auto path = folder / "file";
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.write("new, but never");
    EXPECT_EQ(read_file(path), "old");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(entries(folder.path()), 1u);
  AtomicFile file(path);
  file.write("new ");
  file.write("content");
  file.commit();
  EXPECT_EQ(read_file(path), "new content");
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(AtomicFileDeathTest, IsForThoseWhomTheUmaskLetsReadIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in a process of its own
  const TemporaryFolder folder;
  EXPECT_EXIT(
      {
        ::umask(027);
        write_file(folder / "file", "text");
        const auto found = std::filesystem::status(folder / "file").permissions();
        std::_Exit(found == std::filesystem::perms(0640) ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(AtomicFile, IsForThoseWhomTheFileBeforeItWasFor) {
  const TemporaryFolder folder;
  const auto path = folder / "file";
  write_file(path, "text");
  std::filesystem::permissions(path, std::filesystem::perms(0604));
  const bool is_root = ::getuid() == 0;
  ASSERT_EQ(is_root ? ::chown(path.c_str(), 65534, 65534) : 0, 0);
  write_file(path, "other");
  struct ::stat found;
  ASSERT_EQ(::stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0604u);
  EXPECT_EQ(found.st_uid, is_root ? 65534 : ::getuid());
}

TEST(AtomicFile, CreatesItsFolderAndNamesWhatCannotBeWritten) {
  const TemporaryFolder folder;
  write_file(folder / "a/b/c", "deep");
  EXPECT_EQ(read_file(folder / "a/b/c"), "deep");
  EXPECT_THAT(message_of<SystemError>([&] { write_file(folder / "a/b/c/d", ""); }),
              HasSubstr("a/b/c"));
  EXPECT_THAT(message_of<SystemError>([&] { write_file(folder / "a", "text"); }),
              HasSubstr("a: is a folder, which cannot be replaced; name a file"));
  EXPECT_THROW(check_writable(folder / "a"), SystemError);
  check_writable(folder / "a/b/c");
  EXPECT_EQ(read_file(folder / "a/b/c"), "deep");
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(AtomicFile, ReplacesNoDeviceAndNoPipe) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", folder / "link");
  std::filesystem::create_symlink("/proc/self/fd/1", folder / "stdout");  // as /dev has it
  std::filesystem::create_symlink("/proc/self/fd/999999", folder / "closed");
  for (const char* name : {"pipe", "link", "stdout", "closed"})
    EXPECT_THAT(message_of<SystemError>([&] { write_file(folder / name, "text"); }),
                HasSubstr("is not a regular file, which cannot be replaced; name a file"));
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "link"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "stdout"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "closed"));
  EXPECT_EQ(entries(folder.path()), 4u);
}

TEST(CreateFolders, MakesWhatIsMissingAndNamesWhatIsInTheWay) {
  const TemporaryFolder folder;
  for (int i = 0; i < 2; ++i) create_folders(folder / "a/b");
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/b"));
  EXPECT_NO_THROW(create_folders(""));
  write_file(folder / "file", "");
  EXPECT_THAT(message_of<SystemError>([&] { create_folders(folder / "file/c"); }),
              HasSubstr("file/c"));
}

const std::string* noted_path = nullptr;

/// As another process that makes the file and writes to it.
void note_in_file(int) {
  const int file = ::open(noted_path->c_str(), O_WRONLY | O_CREAT, 0644);
  if (::write(file, "noted", 5) == 5) ::close(file);
}

TEST(CreateFile, LeavesWhatAnotherProcessWritesAtTheSameTime) {
  const TemporaryFolder folder;
  create_file(folder / "file");
  EXPECT_EQ(read_file(folder / "file"), "");
  EXPECT_THROW(create_file(folder / "none/file"), SystemError);
  if (!test::calls_are_counted()) GTEST_SKIP() << test::kNotCounted;
  const std::string path = folder / "other";
  noted_path = &path;
  const auto make_calls = [] {
    for (int i = 0; i < 10; ++i) ::getppid();
  };
  for (int64_t call = 6; call < 24; ++call) {  // in which the other process comes
    std::filesystem::remove(path);
    test::Process(
        [&] {
          ::signal(SIGUSR1, note_in_file);
          make_calls();
          create_file(path);
          make_calls();
          return 0;
        },
        {.system_calls = call, .signal_number = SIGUSR1})
        .wait();
    EXPECT_EQ(read_file(path), "noted") << call;
  }
}

TEST(IsThere, TellsAbsenceFromWhatCannotBeTold) {
  const TemporaryFolder folder;
  EXPECT_TRUE(is_there(folder.path()));
  EXPECT_FALSE(is_there(folder / "none"));
  write_file(folder / "file", "");
  EXPECT_TRUE(is_there(folder / "file"));
  EXPECT_FALSE(is_there(folder / "file/below"));
  std::filesystem::create_symlink("none", folder / "dangling");
  EXPECT_FALSE(is_there(folder / "dangling"));
  std::filesystem::create_symlink("loop", folder / "loop");
  EXPECT_THAT(message_of<SystemError>([&] { is_there(folder / "loop"); }),
              HasSubstr("loop: cannot open: Too many levels of symbolic links"));
}

TEST(AtomicFile, AFullDiskLeavesTheOldFileAndNoRubbish) {
  const TemporaryFolder folder;
  const auto path = folder / "file";
  write_file(path, "old");
  EXPECT_THAT(message_of<SystemError>([&] {
                const test::LargestFile full(4096);
                write_file(path, std::string(10000, 'x'));
              }),
              HasSubstr("cannot write"));
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(entries(folder.path()), 1u);
}

/// Begins a file and a folder and is killed.
void leave_unfinished(const std::filesystem::path& file, const std::filesystem::path& new_folder) {
  test::Process([&] {
    AtomicFile begun(file);
    begun.write("half");
    const NewFolder folder(new_folder);
    write_file(folder.path() / "part", "whole");
    return ::raise(SIGKILL);
  }).wait();
}

TEST(RemoveUnfinishedFiles, TakesOnlyWhatAKilledWriterLeft) {
  const TemporaryFolder folder;
  leave_unfinished(folder / "file", folder / "new");
  write_file(folder / "notes.backup", "keep");
  AtomicFile living(folder / "living");
  ASSERT_EQ(entries(folder.path()), 4u);
  remove_unfinished_files(folder.path());
  EXPECT_EQ(entries(folder.path()), 3u);
  living.commit();
  EXPECT_EQ(read_file(folder / "notes.backup"), "keep");
  EXPECT_NO_THROW(remove_unfinished_files(folder / "missing"));
}

TEST(Unfinished, IsRemovedByTheNextThatWritesTheSame) {
  const TemporaryFolder folder;
  leave_unfinished(folder / "file", folder / "new");
  const NewFolder living(folder / "new");
  EXPECT_EQ(entries(folder.path()), 2u) << "the file and the living one";
  EXPECT_FALSE(is_there(living.path() / "part"));
  const NewFolder second(folder / "new");
  EXPECT_TRUE(is_there(living.path()));
  check_writable(folder / "fil");
  EXPECT_EQ(entries(folder.path()), 3u);
  check_writable(folder / "file");
  EXPECT_EQ(entries(folder.path()), 2u);
}

TEST(NewFolder, GetsNewFiles) {
  const TemporaryFolder folder;
  NewFolder made(folder / "new");
  write_new_file(made.path() / "a/b", "text");
  EXPECT_THAT(message_of<SystemError>([&] { write_new_file(made.path() / "a/b", "other"); }),
              HasSubstr("a/b: cannot create: File exists"));
  for (int n = 0; n < 100; ++n) write_new_file(made.path() / std::to_string(n), "");
  made.commit();
  EXPECT_EQ(entries(folder / "new"), 101u);
  EXPECT_EQ(read_file(folder / "new/a/b"), "text");
}

TEST(NewFolder, TakesThePlaceOfNoMountPoint) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<UsageError>([&] { NewFolder::in_place_of("/proc"); }),
              HasSubstr("/proc is a mount point, which no other folder can replace; move what"));
  EXPECT_THAT(message_of<UsageError>([&] { NewFolder(folder / "."); }),
              HasSubstr("/.; name one below it, such as"));
  EXPECT_EQ(entries(folder.path()), 0u);
}

TEST(NewFolder, ThatCannotBeOpenedLeavesNothing) {
  const TemporaryFolder folder;
  rlimit before = {};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  EXPECT_THROW(NewFolder(folder / "new"), SystemError);
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(entries(folder.path()), 0u);
}

TEST(SystemErrors, KeepTheirErrorNumber) {
  const TemporaryFolder folder;
  const auto has = [](int code) {
    return testing::Throws<SystemError>(testing::Property(&SystemError::code, code));
  };
  EXPECT_THAT([&] { read_file(folder / "missing"); }, has(ENOENT));
  EXPECT_THAT([&] { write_file(folder.path(), ""); }, has(EISDIR));
}

TEST(Paths, WithAZeroByteAreRefused) {
  const TemporaryFolder folder;
  write_file(folder / "file", "text");
  const std::filesystem::path cut = folder / std::string("file\0.txt", 9);
  const std::function<void()> uses[] = {[&] { read_file(cut); }, [&] { MappedFile{cut}; },
                                        [&] { write_file(cut, "other"); }, [&] { is_there(cut); },
                                        [&] { create_folders(cut); }};
  for (const auto& use : uses)
    EXPECT_THAT(message_of<UsageError>(use), HasSubstr("file\\x00.txt' has a zero byte"));
  EXPECT_EQ(read_file(folder / "file"), "text");
}

TEST(ReadFile, RefusesWhatIsNoFileAndWhatIsTooLong) {
  const TemporaryFolder folder;
  write_file(folder / "empty", "");
  write_file(folder / "ten", "0123456789");
  EXPECT_EQ(read_file(folder / "empty"), "");
  EXPECT_EQ(read_file(folder / "ten", 10), "0123456789");
  EXPECT_THAT(message_of<DataError>([&] { read_file(folder / "ten", 9); }),
              HasSubstr("has 10 bytes, more than the 9 accepted"));
  EXPECT_THAT(message_of<DataError>([&] { read_file(folder.path()); }),
              HasSubstr("is not a regular file"));
  EXPECT_THAT(message_of<SystemError>([&] { read_file(folder / "missing"); }),
              HasSubstr("missing: cannot open: No such file"));
  // A pipe without a writer would keep a careless reader waiting for ever.
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(read_file(folder / "pipe"), DataError);
  EXPECT_THROW(MappedFile(folder / "pipe"), DataError);
}

TEST(MappedFile, ShowsTheBytesAndMoves) {
  const TemporaryFolder folder;
  write_file(folder / "file", "abc");
  write_file(folder / "empty", "");
  MappedFile mapped(folder / "file");
  ASSERT_EQ(mapped.bytes().size(), 3u);
  EXPECT_EQ(mapped.bytes()[1], std::byte{'b'});
  MappedFile moved = std::move(mapped);
  EXPECT_EQ(moved.bytes()[2], std::byte{'c'});
  moved = MappedFile(folder / "empty");
  EXPECT_TRUE(moved.bytes().empty());
  EXPECT_THROW(MappedFile(folder / "missing"), SystemError);
}

TEST(FileLock, IsHeldByOneAtATime) {
  const TemporaryFolder folder;
  const auto path = folder / "lock";
  {
    const FileLock lock(path, "wait");
    EXPECT_THAT(
        message_of<std::runtime_error>([&] { FileLock(path, "wait"); }),
        testing::AnyOf(path.native() + ": wait (process " + std::to_string(::getpid()) + ")",
                       path.native() + ": wait"));  // the system may not say it
  }
  EXPECT_NO_THROW(FileLock(path, "wait"));
}

TEST(FileLock, KnowsWhetherItsFolderWasMoved) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "store");
  const FileLock lock(folder / "store/lock", "wait");
  EXPECT_TRUE(lock.is_in_place());
  std::filesystem::rename(folder / "store", folder / "moved");
  EXPECT_FALSE(lock.is_in_place());
  std::filesystem::create_directory(folder / "store");
  const FileLock other(folder / "store/lock", "wait");
  EXPECT_FALSE(lock.is_in_place());
  EXPECT_TRUE(other.is_in_place());
}

TEST(FileLock, EndsWithTheProcessThatHoldsIt) {
  const TemporaryFolder folder;
  const auto path = folder / "lock";
  test::Process holder(
      [&] {
        const FileLock lock(path, "wait");
        std::filesystem::create_directory(folder / "held");
        ::pause();
        return 0;
      },
      {});
  ASSERT_TRUE(holder.wait_until([&] { return std::filesystem::exists(folder / "held"); }));
  EXPECT_THROW(FileLock(path, "wait"), std::runtime_error);
  holder.send(SIGKILL);
  holder.wait();
  EXPECT_NO_THROW(FileLock(path, "wait"));
}

TEST(FileLock, IsThatOfItsProcessAlsoWhereAForkHasTheFileOpen) {
  for (const bool fork_destroys_it : {false, true}) {
    const TemporaryFolder folder;
    const auto path = folder / "lock";
    std::optional<FileLock> lock(std::in_place, path, "wait");
    test::Process fork(
        [&] {
          if (fork_destroys_it) lock.reset();
          std::filesystem::create_directory(folder / "begun");
          ::pause();
          return 0;
        },
        {});
    ASSERT_TRUE(fork.wait_until([&] { return std::filesystem::exists(folder / "begun"); }));
    EXPECT_THROW(FileLock(path, "wait"), std::runtime_error);
    lock.reset();
    EXPECT_NO_THROW(FileLock(path, "wait"));
    fork.send(SIGKILL);
    fork.wait();
  }
}

const TemporaryFolder* replaced_folder = nullptr;
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
  if (!test::calls_are_counted()) GTEST_SKIP() << test::kNotCounted;
  std::set<int> outcomes;
  for (int64_t call = 0; call < 16; ++call) {  // in which the other writer comes
    const TemporaryFolder folder;
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
    outcomes.insert(status);
    ASSERT_NE(status, 3) << "two hold it after call " << call;
  }
  EXPECT_TRUE(outcomes.contains(1));
  EXPECT_TRUE(outcomes.contains(2));
}

TEST(FileLock, FollowsNoLink) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("elsewhere", folder / "lock");
  EXPECT_THAT(message_of<SystemError>([&] { FileLock(folder / "lock", "wait"); }),
              HasSubstr("lock: is a link, expected a file; remove it"));
  EXPECT_THAT(message_of<SystemError>([&] { create_file(folder / "lock"); }),
              HasSubstr("lock: is a link"));
  EXPECT_FALSE(std::filesystem::exists(folder / "elsewhere"));
}

TEST(FileLock, NeedsItsFolder) {
  const TemporaryFolder folder;
  EXPECT_THROW(FileLock(folder / "none/lock", "wait"), SystemError);
}

}  // namespace
}  // namespace tessera
