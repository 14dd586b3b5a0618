// tessera data copy and the other tasks, tessera data babi.

#include <regex>
#include <set>

#include "tests/program/cli/tessera_program.h"

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class DataOfTasks : public Workplace {};

TEST_F(DataOfTasks, SamplesAreTheSameOnStandardOutputAndInAFile) {
  const Arguments command = {"data",  "copy",   "--count", "3",
                             "--set", "bits=4", "--set",   "max_length=2"};
  const std::string printed = done(command);
  EXPECT_THAT(printed, StartsWith(R"({"index":0,"vectors":[")"));
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 3);
  EXPECT_EQ(done(joined(command, {"--out", path("copy.jsonl")})),
            path("copy.jsonl") + ": 3 lines\n");
  EXPECT_EQ(read_file(path("copy.jsonl")), printed);

  // Split, seed and first sample choose others.
  std::set<std::string> outputs = {printed};
  for (const Arguments& more :
       std::vector<Arguments>{{"--split", "test"}, {"--seed", "2"}, {"--first", "3"}})
    outputs.insert(done(joined(command, more)));
  EXPECT_EQ(outputs.size(), 4u);
}

TEST_F(DataOfTasks, PrintsWhatTrivialStrategiesScore) {
  EXPECT_EQ(tessera({"data", "nth-farthest", "--levels"}).out,
            "guess a label                                    0.1250 accuracy\n"
            "m if k = N-1, else any other label               0.2500 accuracy\n"
            "m if k = N-1, else the k-th longest other        0.2959 accuracy\n");
}

TEST_F(DataOfTasks, WritesTensors) {
  const std::string run = done({"data", "spanning-tree", "--tensors", path("batch.safetensors")});
  EXPECT_EQ(run, path("batch.safetensors") + ": 203578 bytes\n");
  EXPECT_THAT(read_file(path("batch.safetensors")), HasSubstr("\"answers\""));
}

TEST_F(DataOfTasks, SimulatesBabi) {
  done({"data", "babi", "--task", "1", "--out", path("babi"), "--train", "10", "--valid", "5",
        "--test", "5"});
  EXPECT_THAT(read_file(path("babi") + "/qa1_test.txt"), HasSubstr("\n3 Where is "));
}

TEST_F(DataOfTasks, TellsStories) {
  const std::string printed = done({"data", "stories", "--stories", "2", "--seed", "5"});
  const std::string run = done({"data", "stories", "--stories", "2", "--seed", "5", "--valid", "1",
                                "--questions", "2", "--out", path("stories")});
  EXPECT_EQ(run, path("stories") + ": train.txt, valid.txt, questions.jsonl\n");
  EXPECT_EQ(done({"data", "stories", "--stories", "2", "--valid", "0", "--questions", "0", "--out",
                  path("told")}),
            path("told") + ": train.txt\n");
  EXPECT_EQ(read_file(path("stories") + "/train.txt"), printed);
  EXPECT_THAT(read_file(path("stories") + "/valid.txt"), HasSubstr("\n<|endoftext|>\n"));
  EXPECT_THAT(read_file(path("stories") + "/questions.jsonl"), HasSubstr("\"right\":\""));
  // The questions are no text to learn tokens from.
  const Arguments learn = {"tokenizer", "train", path("stories"), "--kind",
                           "character", "--out", path("t")};
  expect_refused(tessera(learn), 3, "questions.jsonl: line 1: is not an object with a field");
  EXPECT_THAT(done(joined(learn, {"--suffix", ".txt"})), HasSubstr("bytes of text"));
  EXPECT_THAT(tessera({"data", "stories", "--words", "10"}).out, HasSubstr("\n<|endoftext|>\n"));
}

TEST_F(DataOfTasks, WritesRandomLanguages) {
  const std::string printed = done({"data", "regbench", "--count", "2", "--split", "test"});
  EXPECT_THAT(printed, StartsWith(R"({"index":0,"automaton":[{")"));
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 2);
  EXPECT_EQ(
      tessera({"data", "regbench", "--count", "2", "--split", "test", "--out",
               path("languages.jsonl"), "--tensors", path("languages.safetensors")})
          .out,
      path("languages.safetensors") + ": 83904 bytes\n" + path("languages.jsonl") + ": 2 lines\n");
  EXPECT_EQ(read_file(path("languages.jsonl")), printed);
  EXPECT_THAT(read_file(path("languages.safetensors")), HasSubstr("\"truth\""));
  // Other strings of the languages of the training.
  const auto automaton_of = [&](const Arguments& more) {
    const std::string line = tessera(joined({"data", "regbench", "--count", "1"}, more)).out;
    return line.substr(0, line.find("\"text\""));
  };
  EXPECT_EQ(automaton_of({}), automaton_of({"--split", "test", "--known-languages"}));
  EXPECT_NE(automaton_of({}), automaton_of({"--split", "test"}));
}

TEST_F(DataOfTasks, RecordsGamesOfPong) {
  const Arguments short_game = {"data", "pong", "--set", "game.points=2"};
  const auto with = [&](const Arguments& more) { return done(joined(short_game, more)); };
  const std::string printed = with({"--games", "2"});
  EXPECT_THAT(printed, StartsWith(R"({"game":0,"action":)"));
  EXPECT_THAT(printed, HasSubstr(R"({"game":1,"action":)"));
  EXPECT_THAT(
      with({"--games", "2", "--out", path("games.jsonl"), "--tensors", path("g.safetensors")}),
      HasSubstr("games.jsonl: "));
  EXPECT_EQ(read_file(path("games.jsonl")), printed);
  EXPECT_THAT(read_file(path("g.safetensors")), HasSubstr("\"observations\""));
  // The first game of the next seed is another one than the second of this.
  const std::string second = printed.substr(printed.find(R"({"game":1)"));
  EXPECT_NE(with({"--seed", "2"}),
            std::regex_replace(second, std::regex(R"("game":1)"), R"("game":0)"));
}

TEST_F(DataOfTasks, RefusesWhatItCannotMake) {
  expect_all_refused(
      {{{"data", "copy", "--set", "bit=4"}, "did you mean 'bits'?"},
       {{"data", "copy", "--set", "bits=0"}, "task.bits is 0"},
       {{"data", "copy", "--split", "tests"}, "training, validation, test"},
       {{"data", "copy", "--count", "0"}, "the number of samples is 0"},
       {{"data", "regbench", "--set", "letter=4"}, "did you mean 'letters'?"},
       {{"data", "regbench", "--set", "max_edges=9"},
        "max_edges (at most min_alphabet and min_states - 1) is 9"},
       {{"data", "regbench", "--count", "0"}, "the number of sequences is 0"},
       {{"data", "pong", "--games", "0"}, "the number of games is 0"},
       {{"data", "pong", "--set", "size=3"}, "size is 3"},
       {{"data", "pong", "--player", "quick"}, "still, random, perfect"},
       {{"data", "stories", "--stories", "2", "--words", "9"}, "excludes"},
       {{"data", "stories", "--stories", "0"}, "--stories is '0'"},
       {{"data", "stories", "--valid", "1"}, "--valid requires --out"},
       {{"data", "stories", "--questions", "-1", "--out", path("stories")}, "--questions is '-1'"},
       {{"data", "babi", "--task", "21", "--out", path("babi")},
        "--task is '21', expected a whole number from 1 to 20"}},
      2);
}

/// The same of other verbs that write files.
TEST_F(DataOfTasks, LeaveNothingUnfinishedAfterASignal) {
  if (!test::calls_are_counted()) GTEST_SKIP() << test::kNotCounted;
  const Arguments commands[] = {
      {"data", "text", path("text.txt"), "--out", path("made/text")},
      {"data", "text", path("text.txt"), "--documents", path("made")},
      {"data", "copy", "--tensors", path("made/copy.safetensors")},
      {"data", "regbench", "--count", "1", "--tensors", path("made/regbench.safetensors")},
      {"data", "babi", "--task", "1", "--train", "9", "--out", path("made")},
      {"data", "stories", "--stories", "2", "--valid", "2", "--questions", "1", "--out",
       path("made")},
      {"tokenizer", "train", path("text.txt"), "--vocabulary", "260", "--out", path("made/t.json")},
      {"export", "--model", trained_model(), "--weights", "int8", "--out", path("made/model")},
      {"manual", path("made")}};
  for (const Arguments& command : commands) {
    const auto in_new_folder = [&](int64_t system_calls) {
      std::filesystem::remove_all(path("made"));
      std::filesystem::create_directory(path("made"));
      return start(command, {.system_calls = system_calls, .signal_number = SIGINT});
    };
    const int64_t calls = in_new_folder(test::kAllCalls).system_calls();
    for (int64_t before_end = 2; before_end < 26; before_end += 2) {
      in_new_folder(calls - before_end).wait();
      for (const auto& entry : std::filesystem::recursive_directory_iterator(path("made")))
        EXPECT_THAT(entry.path().native(), testing::Not(HasSubstr("unfinished"))) << before_end;
    }
  }
}

}  // namespace
}  // namespace tessera::cli
