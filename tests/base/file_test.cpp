#include "tessera/base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::message_of;
using test::TemporaryFolder;
using testing::HasSubstr;

size_t entries(const std::filesystem::path& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
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

TEST(AtomicFile, CreatesItsFolderAndNamesWhatCannotBeWritten) {
  const TemporaryFolder folder;
  write_file(folder / "a/b/c", "deep");
  EXPECT_EQ(read_file(folder / "a/b/c"), "deep");
  EXPECT_THAT(message_of<SystemError>([&] { write_file(folder / "a/b/c/d", ""); }),
              HasSubstr("a/b/c"));
  EXPECT_THROW(write_file(folder / "a", "is a folder"), SystemError);
  EXPECT_EQ(entries(folder.path()), 1u);
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
  rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THAT(message_of<SystemError>([&] { write_file(path, std::string(10000, 'x')); }),
              HasSubstr("cannot write"));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(RemoveUnfinishedFiles, TakesOnlyWhatAKilledWriterLeft) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(folder / "file");
    file.write("half");
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  write_file(folder / "notes.backup", "keep");
  ASSERT_EQ(entries(folder.path()), 2u);
  remove_unfinished_files(folder.path());
  EXPECT_EQ(entries(folder.path()), 1u);
  EXPECT_EQ(read_file(folder / "notes.backup"), "keep");
  EXPECT_NO_THROW(remove_unfinished_files(folder / "missing"));
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

}  // namespace
}  // namespace tessera
