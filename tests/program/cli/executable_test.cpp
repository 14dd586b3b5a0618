// The executable: what it sets before it loads the verbs, and which library it loads.

#include <nlohmann/json.hpp>

#include "tessera/base/config.h"
#include "tests/program/cli/served_process.h"

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The names of the libraries that a command loads stand in what the loader says of it.
TEST(Executable, DoesNotLoadLibTorchForVerbsThatNeedNone) {
  const ProcessOptions traced{.environment = {{"LD_DEBUG", "libs"}}};
  for (const char* verb : {"mcp", "memo", "plan", "tokenizer"}) {
    const Outcome help = executable({verb, "--help"}, traced);
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.err, HasSubstr("libopenblas")) << verb;
    EXPECT_THAT(help.err, Not(HasSubstr("libtorch"))) << verb;
  }
  EXPECT_THAT(executable({"--version"}, traced).err, Not(HasSubstr("libtorch")));
  EXPECT_EQ(executable({"--version"}).out, tessera({"--version"}).out);
  EXPECT_THAT(executable({"train", "--help"}, traced).err, HasSubstr("libtorch"));
}

TEST(Executable, IgnoresTheBlasKernelsThatItInherits) {
  const ProcessOptions inherited{.environment = {{"OPENBLAS_CORETYPE", "Nehalem"}}};
  EXPECT_THAT(Process(command_line({"memo", "--help"}), inherited).wait().err,
              HasSubstr("ignoring OPENBLAS_CORETYPE=Nehalem"));
  EXPECT_EQ(executable({"memo", "--help"}, inherited).err, "");
}

/// OpenBLAS says which it takes; those named Prescott are its choice for a processor it doesn't
/// know.
TEST(Executable, TakesBlasKernelsThatUseTheProcessorsVectors) {
#ifdef __x86_64__
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "a processor without AVX2";
#endif
  const ProcessOptions inherited{
      .environment = {{"OPENBLAS_CORETYPE", "Prescott"}, {"OPENBLAS_VERBOSE", "2"}}};
  const std::string said = Process(command_line({"memo", "--help"}), inherited).wait().err;
  EXPECT_THAT(said.substr(said.rfind("Core: ")), Not(HasSubstr("Prescott")));
}

TEST(Executable, TakesAsManyThreadsAsTheEnvironmentSaysUnlessThatIsNoNumber) {
  const auto threads = [](const std::string& said) {
    const std::string program = test::build_folder() / "tessera";
    const Outcome run =
        Process({program, "--version", "--json"}, {.environment = {{"OMP_NUM_THREADS", said}}})
            .wait();
    EXPECT_THAT(run.err, Not(HasSubstr("OMP_NUM_THREADS"))) << said;
    return config::Json::parse(run.out).at("machine").at("threads").get<int>();
  };
  EXPECT_EQ(threads("3"), 3);
  EXPECT_EQ(threads("no"), threads("0"));
  EXPECT_GE(threads("0"), 1);
}

/// The program as a shell starts it, with these arguments and redirections.
Outcome by_shell(const std::string& arguments) {
  const std::string program = test::build_folder() / "tessera";
  return Process({"/bin/sh", "-c", "'" + program + "' " + arguments}).wait();
}

TEST(Executable, AFullDiskBehindStandardErrorEndsNoCommand) {
  EXPECT_EQ(by_shell("--version 2> /dev/full").status, 0);
  EXPECT_EQ(by_shell("nosuch 2> /dev/full").status, 2);
  EXPECT_EQ(by_shell("memo verify /nonexistent 2> /dev/full").status, 3);
}

/// Whatever the size of what is printed: some of it is written before the command ends.
TEST(Executable, AFullDiskBehindStandardOutputIsNamed) {
  for (const char* arguments : {"--version", "train --help", "study --list"}) {
    const Outcome run = by_shell(arguments + std::string(" > /dev/full"));
    EXPECT_EQ(run.status, 1);
    EXPECT_THAT(run.err, HasSubstr("tessera: standard output: cannot write: No space left"));
  }
}

TEST(Executable, SaysWhichLibraryIsMissing) {
  const test::TemporaryFolder folder;
  std::filesystem::copy(test::build_folder() / "tessera", folder / "tessera");
  for (const auto& [verb, library] :
       {std::pair{"plan", "libtessera_cli.so"}, std::pair{"eval", "libtessera_model_cli.so"}}) {
    const Outcome run = Process({folder / "tessera", verb}, {}).wait();
    EXPECT_EQ(run.status, 1);
    EXPECT_THAT(run.err, HasSubstr(std::string(library) + ": it is not beside the program"));
  }
}

class ExecutableOnTexts : public Workplace {};

/// From end to end, by both libraries: a store, a training, and an output that cannot be written.
TEST_F(ExecutableOnTexts, DoesWhatTheVerbsDo) {
  EXPECT_EQ(executable({"memo", "create", path("store"), "--dimension", "64"}).status, 0);
  EXPECT_EQ(executable({"memo", "memorize", path("store"), path("text.txt")}).status, 0);
  EXPECT_THAT(tessera({"memo", "verify", path("store")}).out, HasSubstr("verified"));
  EXPECT_EQ(executable(train_arguments("run")).status, 0);
  done({"generate", "--model", path("run/model"), "--max-tokens", "2"});
  const Outcome full = executable(train_arguments("full"), {.largest_file = 4096});
  EXPECT_EQ(full.status, 1);
  EXPECT_THAT(full.err, HasSubstr("File too large"));
}

/// Such a parent leaves the program without the exit status of pdftotext.
TEST_F(ExecutableOnTexts, ReadsAPdfAlsoFromAParentThatIgnoresItsChildren) {
  write_text(path("a.pdf"), "%PDF-1.4");
  write_text(path("pdftotext"), "#!/bin/sh\necho the cat sees the river\n");
  std::filesystem::permissions(path("pdftotext"), std::filesystem::perms::owner_all);
  done({"memo", "create", path("store"), "--dimension", "64"});
  const Outcome run =
      Process({"/usr/bin/env", "--ignore-signal=CHLD", "PATH=" + path(".") + ":/usr/bin:/bin",
               test::build_folder() / "tessera", "memo", "memorize", path("store"), path("a.pdf")})
          .wait();
  EXPECT_EQ(run.status, 0) << run.err;
}

/// The server has mapped the store's matrix, which the first question reads.
TEST_F(ExecutableOnTexts, SaysThatAMappedFileWasShortened) {
  const std::string store = path("store");
  done({"memo", "create", store, "--dimension", "512"});
  done({"memo", "memorize", store, path("text.txt")});
  Process server(command_line({"serve", "--port", "0", "--store", "s=" + store}));
  const int port = served_port(server);
  ASSERT_NE(port, 0);
  std::filesystem::resize_file(path("store/memory.safetensors"), 0);
  const serve::RawClient asking(port, serve::asking("POST", "/v1/stores/s/recall",
                                                    R"({"prompt": "the cat sees the river."})"));
  const Outcome run = server.wait();
  EXPECT_EQ(run.status, 3);
  EXPECT_THAT(run.err,
              HasSubstr("tessera: a mapped file cannot be read: another process shortened it"));
}

/// What a document and a model hold is not to command the terminal that it is shown on.
TEST_F(ExecutableOnTexts, ATerminalIsShownTheirControlCharacters) {
  const std::string store = path("store");
  write_text(path("texts"), "caf\xC3\xA9\t\x1b[31mred\x07\nthe old man and the sea\n");
  done({"memo", "create", store, "--dimension", "64"});
  done({"memo", "create", path("bytes"), "--tokenizer", "byte", "--dimension", "64"});
  done({"memo", "memorize", store, path("texts")});
  EXPECT_EQ(tessera({"memo", "show", store, "texts"}).out, read_file(path("texts")));
  const auto on_terminal = [](const Arguments& arguments) {
    std::string command;
    for (const std::string& word : command_line(arguments)) command += "'" + word + "' ";
    return Process({"/usr/bin/script", "-qec", command + "2>/dev/null", "/dev/null"}).wait().out;
  };
  const std::string shown = "caf\xC3\xA9\t\\x1b[31mred\\x07";
  if (!std::filesystem::exists("/usr/bin/script")) GTEST_SKIP() << "needs script (util-linux)";
  EXPECT_EQ(on_terminal({"memo", "show", store, "texts"}),
            shown + "\r\nthe old man and the sea\r\n");
  EXPECT_THAT(on_terminal({"memo", "find", store, "red"}), HasSubstr("\\x1b[31mred\\x07"));
  EXPECT_THAT(on_terminal({"memo", "search", store, "31mred"}), HasSubstr("\\x1b[[31mred]\\x07"));
  for (const char* verb : {"recall", "complete"})
    EXPECT_THAT(
        on_terminal({"memo", verb, store, "--prompt", read_file(path("texts")).substr(0, 14)}),
        HasSubstr(shown));
  EXPECT_THAT(on_terminal({"generate", "--model", trained_model(), "--prompt", "\x1b[31mred",
                           "--max-tokens", "2"}),
              HasSubstr("\\x1b[31mred"));
  EXPECT_EQ(on_terminal({"tokenizer", "decode", "--tokenizer", path("bytes"), "--tokens", "97",
                         "27", "195"}),
            "a\\x1b\\xc3");
}

}  // namespace
}  // namespace tessera::cli
