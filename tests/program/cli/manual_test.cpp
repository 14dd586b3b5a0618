// What `tessera manual` writes is read by the programs that it is for.

#include "tests/program/cli/tessera_program.h"

namespace tessera::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Whether a shell finds this program.
bool installed(const std::string& program) {
  return Process({"/bin/sh", "-c", "command -v " + program}, {}).wait().status == 0;
}

/// Everything that `tessera manual` writes, once for all tests.
class Manual : public ::testing::Test {
 protected:
  static std::filesystem::path folder() {
    static const test::TemporaryFolder folder;
    static const int status = tessera({"manual", folder.path().native()}).status;
    EXPECT_EQ(status, 0);
    return folder.path();
  }
  static std::string page(const std::string& name) {
    return read_file(folder() / "man/man1" / (name + ".1"));
  }
  static std::filesystem::path bash() { return folder() / "bash-completion/completions/tessera"; }
  static std::filesystem::path zsh() { return folder() / "zsh/vendor-completions/_tessera"; }
  static std::filesystem::path fish() {
    return folder() / "fish/vendor_completions.d/tessera.fish";
  }

  /// What bash shows when somebody types `line` and then Tab.
  static std::string after_tab(const std::string& line) {
    const std::string typed = "bind 'set show-all-if-ambiguous on'\nsource " + bash().native() +
                              "\n: begin\n" + line + "\t\n";
    const Outcome shell = Process({"/bin/bash", "--norc", "--noprofile", "-i"},
                                  {.input = typed, .environment = {{"TERM", "dumb"}}})
                              .wait();
    const size_t begin = shell.err.find(": begin");
    EXPECT_NE(begin, std::string::npos) << shell.err;
    return shell.err.substr(std::min(begin, shell.err.size()));
  }
};

TEST_F(Manual, APageSaysWhatTheHelpSays) {
  EXPECT_THAT(page("tessera"),
              AllOf(HasSubstr(".BR tessera\\-memo (1)"), HasSubstr("\\-\\-threads")));
  EXPECT_THAT(page("tessera-memo"), HasSubstr(".BR tessera\\-memo\\-recall (1)"));
  EXPECT_THAT(page("tessera-memo-recall"),
              AllOf(HasSubstr(".TH TESSERA\\-MEMO\\-RECALL 1"),
                    HasSubstr(".B tessera memo recall\n[OPTIONS] store...\n"),
                    HasSubstr("\\fB\\-\\-prompt\\fR TEXT (required)\nText to continue\n")));
  EXPECT_THAT(page("tessera-train"), HasSubstr("learning_rate = 0.001"));
}

TEST_F(Manual, ManReadsEveryPageWithoutWarning) {
  if (!installed("man")) GTEST_SKIP() << "man is not installed";
  Arguments command = {"/usr/bin/man",        "--warnings", "--encoding=UTF-8",
                       "--troff-device=utf8", "--ditroff",  "--local-file"};
  for (const auto& page : std::filesystem::directory_iterator(folder() / "man/man1"))
    command.push_back(page.path());
  EXPECT_GT(command.size(), 40u);
  const Outcome man = Process(command, {}).wait();
  EXPECT_EQ(man.status, 0);
  EXPECT_EQ(man.err, "");
}

TEST_F(Manual, BashCompletesVerbsOptionsValuesAndFiles) {
  EXPECT_THAT(after_tab("tessera "), AllOf(HasSubstr("generate"), HasSubstr("manual")));
  EXPECT_THAT(after_tab("tessera memo "),
              AllOf(HasSubstr("create"), HasSubstr("recall"), Not(HasSubstr("generate"))));
  EXPECT_THAT(
      after_tab("tessera memo recall --"),
      AllOf(HasSubstr("--prompt"), HasSubstr("--error-rate"), Not(HasSubstr("--plan-from"))));
  EXPECT_THAT(after_tab("tessera memo create --code b"), HasSubstr("--code bound"));
  EXPECT_THAT(after_tab("tessera memo export " + folder().native() + "/ma"), HasSubstr("/man/"));
}

TEST_F(Manual, ZshAndFishReadTheirs) {
  for (const auto& [shell, script] : {std::pair{"zsh", zsh()}, std::pair{"fish", fish()}}) {
    if (!installed(shell)) continue;
    const Outcome read = Process({std::string("/usr/bin/") + shell, "-n", script}, {}).wait();
    EXPECT_EQ(read.status, 0) << read.err;
    EXPECT_EQ(read.err, "");
  }
  if (!installed("fish")) GTEST_SKIP() << "fish is not installed";
  const std::string ask = "source " + fish().native() + "; complete -C 'tessera memo re'";
  const Outcome verbs = Process({"/usr/bin/fish", "--no-config", "-c", ask}, {}).wait();
  EXPECT_THAT(verbs.out,
              AllOf(HasSubstr("rebuild\t"), HasSubstr("recall\t"), Not(HasSubstr("create"))));
}

}  // namespace
}  // namespace tessera::cli
