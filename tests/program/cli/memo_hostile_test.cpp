// tessera memo, driven against names and folders that are made to mislead it.

#include "tests/program/cli/memo_workplace.h"

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class MemoHostile : public MemoWorkplace {
 protected:
  MemoHostile() { std::filesystem::create_directory(path("texts")); }

  const std::string store_ = create();
};

TEST_F(MemoHostile, LoopsOfLinksAreNamed) {
  std::filesystem::create_symlink("loop", path("loop"));
  const std::string reason = "cannot open: Too many levels of symbolic links";
  expect_refused(memo({"stat", path("loop")}), 1, "loop/config.json: " + reason);
  expect_refused(memo({"memorize", store_, path("loop")}), 1, "loop: " + reason);
  expect_refused(memo({"create", path("loop")}), 2, "loop already exists");
}

TEST_F(MemoHostile, LinksInAFolderOfTextsAreNotFollowed) {
  write_text(path("texts/one"), "A text.");
  std::filesystem::create_symlink("..", path("texts/above"));
  std::filesystem::create_symlink("turn", path("texts/turn"));
  std::filesystem::create_symlink(".turn", path("texts/.turn"));
  std::filesystem::create_symlink(path("text.txt"), path("texts/elsewhere"));
  EXPECT_EQ(memo({"memorize", store_, path("texts")}).out, "one: 8 tokens, 4 pairs\n");
  EXPECT_EQ(memo({"update", store_, path("texts"), "--exclude", "turn"}).status, 0);
}

TEST_F(MemoHostile, NothingInAMessageCommandsTheTerminal) {
  const Outcome run = memo({"memorize", store_, path("\x1b[31mred")});
  expect_refused(run, 1, "\\x1b[31mred: cannot open: No such file or directory");
  EXPECT_THAT(run.err, Not(HasSubstr("\x1b")));
  write_text(path("texts/\x1b[31mred"), "A text.");
  expect_refused(memo({"memorize", store_, path("texts")}), 2,
                 "the id of a document, '\\x1b[31mred', is not UTF-8 or has control characters; "
                 "rename the file");
}

}  // namespace
}  // namespace tessera::cli
