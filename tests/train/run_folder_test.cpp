#include "tessera/train/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::message_of;
using test::TemporaryFolder;
using testing::HasSubstr;

TEST(RunFolder, MakesTheFolderOfANewRun) {
  const TemporaryFolder folder;
  const RunFolder run(folder / "a/run", Start::kNew);
  EXPECT_EQ(run.path(), folder / "a/run");
  EXPECT_EQ(run.start(), Start::kNew);
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/run"));
}

TEST(RunFolder, BelongsToOneAtATime) {
  const TemporaryFolder folder;
  {
    const RunFolder run(folder / "run", Start::kNew);
    for (const Start start : {Start::kNew, Start::kResume})
      EXPECT_THAT(message_of<std::runtime_error>([&] { RunFolder(folder / "run", start); }),
                  HasSubstr("run/lock: another process is training in this folder"));
  }
  EXPECT_NO_THROW(RunFolder(folder / "run", Start::kResume));
}

TEST(RunFolder, KeepsARunThatIsThere) {
  const TemporaryFolder folder;
  write_file(folder / "run/metrics.jsonl", "");
  EXPECT_THAT(message_of<UsageError>([&] { RunFolder(folder / "run", Start::kNew); }),
              HasSubstr("already holds a run; continue it with --resume"));
  // A run of a version without lock.
  std::filesystem::remove(folder / "run/lock");
  EXPECT_NO_THROW(RunFolder(folder / "run", Start::kResume));
  // A run without its log.
  write_file(folder / "no log/checkpoints/step-00000010.safetensors", "");
  EXPECT_THAT(message_of<UsageError>([&] { RunFolder(folder / "no log", Start::kNew); }),
              HasSubstr("already holds a run; continue it with --resume"));
}

TEST(RunFolder, IsNoModelsAndNoStores) {
  const TemporaryFolder folder;
  write_file(folder / "store/config.json", "{}");
  write_file(folder / "store/lock", "");
  for (const Start start : {Start::kNew, Start::kResume})
    EXPECT_THAT(message_of<UsageError>([&] { RunFolder(folder / "store", start); }),
                HasSubstr("store holds a model or a store (its config.json), not a run"));
}

TEST(RunFolder, ResumesNothingThatIsNotARun) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<UsageError>([&] { RunFolder(folder / "none", Start::kResume); }),
              testing::AllOf(HasSubstr("none does not exist"), HasSubstr("leave out --resume")));
  EXPECT_FALSE(std::filesystem::exists(folder / "none"));
  std::filesystem::create_directory(folder / "empty");
  EXPECT_THAT(message_of<UsageError>([&] { RunFolder(folder / "empty", Start::kResume); }),
              HasSubstr("empty holds no run to resume"));
  EXPECT_TRUE(std::filesystem::is_empty(folder / "empty"));
}

}  // namespace
}  // namespace tessera
