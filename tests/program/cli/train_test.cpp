// tessera train from end to end, and the texts and failures that it must tell apart.

#include <nlohmann/json.hpp>

#include "tests/program/cli/tessera_program.h"

namespace tessera::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Training : public Workplace {};

TEST_F(Training, LeavesARunWithAModelAndAReport) {
  const Outcome run = train("run", {"train.sample_every=15", "train.steps=60"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("validation loss"), HasSubstr(path("run/model")),
                             HasSubstr("report.html"), HasSubstr("tessera generate --model")));
  EXPECT_THAT(run.err, AllOf(HasSubstr("bytes, 257 tokens"),
                             HasSubstr("step 60: validation: loss (nats/token)"),
                             HasSubstr("bits per byte"), HasSubstr("tok/s")));
  for (const char* file : {"config.toml", "manifest.json", "metrics.jsonl", "report.html",
                           "model/config.json", "model/model.safetensors", "model/tokenizer.json"})
    EXPECT_TRUE(std::filesystem::exists(path("run/" + std::string(file)))) << file;
  EXPECT_THAT(read_file(path("run/report.html")),
              HasSubstr("<span>--set</span> <span>train.steps=60</span>"));

  const Outcome again = tessera({"train", path("run/config.toml"), "--out", path("again")});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(read_file(path("run/model/model.safetensors")),
            read_file(path("again/model/model.safetensors")))
      << "config.toml of a run does not repeat it";
}

TEST_F(Training, GoesOnFromAModel) {
  done(train_arguments("first", {"train.steps=60"}));
  write_text(path("more.toml"), "[model]\nfrom = \"" + path("first/model") +
                                    "\"\ndropout = 0.2\n[data]\ntext = \"" + path("text.txt") +
                                    "\"\n[train]\nsteps = 4\nbatch = 4\nevaluate_every = 4\n" +
                                    "evaluate_batches = 2\nlearning_rate = 1e-4\n");
  const Arguments command = {"train", path("more.toml"), "--out", path("more")};
  done(command);
  EXPECT_LT(losses("more").front(), losses("first").front() - 0.5) << "it began with new weights";
  EXPECT_EQ(read_file(path("first/model/tokenizer.json")),
            read_file(path("more/model/tokenizer.json")));
  const auto config = nlohmann::json::parse(read_file(path("more/model/config.json")));
  EXPECT_EQ(config["dropout"], 0.2);

  done({"train", path("more/config.toml"), "--out", path("again")});

  // The checkpoint of a run has all that it took from the model.
  std::filesystem::copy(path("more"), path("alone"), std::filesystem::copy_options::recursive);
  const Arguments further = {"--resume", "--set", "train.steps=6"};
  const Arguments alone = joined({"train", path("more.toml"), "--out", path("alone")}, further);
  done(joined(command, further));
  std::filesystem::rename(path("first/model"), path("gone"));
  done(alone);
  EXPECT_EQ(read_file(path("more/model/model.safetensors")),
            read_file(path("alone/model/model.safetensors")));
  std::filesystem::remove_all(path("alone/checkpoints"));
  expect_refused(tessera(alone), 3, "is not a model directory");
  std::filesystem::rename(path("gone"), path("first/model"));

  const auto refused = [&](const std::string& setting, int status, const std::string& message) {
    expect_refused(tessera({"train", path("more.toml"), "--out", path("other"), "--set", setting}),
                   status, message);
  };
  refused("model.channels=8", 2, "may change model.dropout and model.precision only");
  refused("model.colour=8", 2, "has no such field");
  refused("model.from=3", 2, "model.from is 3, expected a model directory");
  refused("model.from=" + path("nowhere"), 3, "is not a model directory");
  refused("data.tokenizer=byte", 2, "leave data.tokenizer out");
  std::filesystem::remove(path("first/model/tokenizer.json"));
  refused("train.steps=5", 2, "has no tokenizer.json");
}

TEST_F(Training, OfAGptLearns) {
  write_text(path("gpt.toml"),
             "[model]\nkind = \"gpt\"\nlayers = 1\n"
             "heads = 2\nchannels = 16\nwindow = 32\n");
  const auto loss = [&](const std::string& steps) {
    done({"train", path("gpt.toml"), "--out", path("gpt" + steps), "--set",
          "data.text=" + path("text.txt"), "data.tokenizer=byte", "train.batch=4",
          "train.learning_rate=0.02", "train.warmup_steps=5", "train.evaluate_batches=2",
          "train.steps=" + steps});
    const std::string log = read_file(path("gpt" + steps + "/metrics.jsonl"));
    const auto last = nlohmann::json::parse(log.substr(log.rfind('{', log.rfind('{') - 1)));
    return last["metrics"]["loss"].get<double>();
  };
  EXPECT_LT(loss("150"), loss("6") - 1);

  // It has positions up to its window: past that, only a window that moves along can read.
  const Arguments past_window = {
      "generate", "--model", path("gpt150/model"), "--prompt", small_text(20), "--max-tokens", "5"};
  done(past_window);
  expect_refused(tessera(joined(past_window, {"--reading", "streaming"})), 2,
                 "do not fit the window of 32 tokens");
}

TEST_F(Training, OnATaskLeavesARunWithAModelAndAReport) {
  write_text(path("copy.toml"),
             "[task]\nname = \"copy\"\nbits = 3\nmax_length = 2\n"
             "[model]\nkind = \"stm\"\nslots = 1\nwidth = 4\ndistilled = 4\n"
             "[data]\ntest_samples = 16\n"
             "[train]\nsteps = 4\nbatch = 8\nevaluate_every = 2\nevaluate_batches = 1\n");
  const Arguments command = {"train", path("copy.toml"), "--out", path("copy")};
  const Outcome run = tessera(command);
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("wrong bits per sequence"), HasSubstr("guess every bit"),
                             HasSubstr(path("copy/model")), HasSubstr("report.html")));
  EXPECT_THAT(run.err, AllOf(HasSubstr("step 4: validation: wrong bits per sequence"),
                             HasSubstr("sequences/s")));
  for (const char* file : {"config.toml", "manifest.json", "metrics.jsonl", "report.html",
                           "model/config.json", "model/model.safetensors"})
    EXPECT_TRUE(std::filesystem::exists(path("copy/" + std::string(file)))) << file;
  expect_refused(tessera(command), 2, "already holds a run");
  done(joined(command, {"--resume", "--set", "train.steps=6"}));
  const std::string from = "model.from=" + path("copy/model");
  done({"train", path("copy.toml"), "--out", path("more"), "--set", from});
  std::filesystem::remove_all(path("copy/model"));
  done({"train", path("copy.toml"), "--out", path("more"), "--set", from, "train.steps=6",
        "--resume"});
  expect_refused(tessera({"train", path("copy.toml"), "--out", path("x"), "--set", "task.bit=4"}),
                 2, "did you mean 'bits'?");
  expect_refused(
      tessera({"train", path("copy.toml"), "--out", path("x"), "--set", "model.kind=gpt"}), 2,
      "does not read vectors");
  EXPECT_FALSE(std::filesystem::exists(path("x")));
}

// Samples that a task wrote are files of one's own.
TEST_F(Training, OnFilesOfOnesOwnLeavesAModelThatAnyTaskMeasures) {
  const std::string samples = path("copy.safetensors");
  done({"data", "copy", "--count", "16", "--set", "bits=3", "--set", "max_length=2", "--tensors",
        samples});
  write_text(path("own.toml"),
             fmt::format("[task]\nfile = \"{0}\"\nvalidation = \"{0}\"\ntest = \"{0}\"\n"
                         "[model]\nkind = \"stm\"\nslots = 1\nwidth = 4\ndistilled = 4\n"
                         "[train]\nsteps = 2\nbatch = 8\n",
                         samples));
  done({"train", path("own.toml"), "--out", path("own")});
  const auto evaluated = [&](const Arguments& more) {
    return tessera(joined({"eval", "--model", path("own/model")}, more));
  };
  EXPECT_THAT(evaluated({"--data", samples}).out, HasSubstr("wrong bits per sequence"));
  const Outcome longer = evaluated({"--task", "copy", "--set", "bits=3", "--set", "min_length=9",
                                    "--set", "max_length=9", "--samples", "10", "--json"});
  const auto metrics = nlohmann::json::parse(longer.out);
  EXPECT_NEAR(metrics["wrong_per_sequence"].get<double>(),
              27 * (1 - metrics["accuracy"].get<double>()), 1e-9);
  expect_refused(evaluated({"--task", "copy", "--reading", "streaming"}), 2, "leave out --store");
  expect_refused(evaluated({"--task", "copi"}), 2, "expected one of: associative-retrieval");
  expect_refused(evaluated({"--task", "copy"}), 2,
                 "own/model does not fit the task, whose inputs are vectors of 34 numbers: ");
  expect_refused(evaluated({"--task", "copy"}), 2, "expected [*, *, 5]");
  expect_refused(evaluated({}), 2, "give --task KIND, or --data FILE");
  expect_refused(evaluated({"--data", path("own.toml")}), 3, "own.toml: line 1");
  write_text(path("classes.jsonl"), R"({"inputs":[[0,0,0,0,1]],"classes":[7]})");
  expect_refused(evaluated({"--data", path("classes.jsonl")}), 3,
                 "classes.jsonl: " + path("own/model") +
                     " does not fit the task, whose inputs are vectors of 5 numbers: the outputs "
                     "name 3 classes, but class 7 is asked for");
  done({"forward", "--model", path("own/model"), "--input", samples, "--output",
        path("y.safetensors")});
}

TEST_F(Training, OnAGameLeavesARunWhoseAgentRuns) {
  write_text(path("pong.toml"),
             "[task]\nname = \"pong\"\n"
             "[environment]\nsize = 4\nlongest_game = 30\ngame.points = 1\n"
             "[agent]\nchannels = [2]\nkernels = [3]\npaddings = [1]\nhidden = 4\n"
             "[actor_critic]\nrollout = 3\n"
             "[train]\nsteps = 2\nbatch = 2\nevaluate_batches = 1\n");
  const Arguments command = {"train", path("pong.toml"), "--out", path("pong")};
  const std::string run = done(command);
  EXPECT_THAT(run, AllOf(HasSubstr("pong, pong_agent"), HasSubstr("reward per game")));
  done(joined(command, {"--resume", "--set", "train.steps=3"}));
  // Two black frames of 4 x 4 for one game.
  const std::string header = R"({"x":{"dtype":"F32","shape":[2,1,16],"data_offsets":[0,128]}})";
  write_text(path("frames.safetensors"), static_cast<char>(header.size()) + std::string(7, '\0') +
                                             header + std::string(128, '\0'));
  done({"forward", "--model", path("pong/model"), "--input", path("frames.safetensors"), "--output",
        path("y.safetensors")});
  expect_refused(
      tessera({"train", path("pong.toml"), "--out", path("x"), "--set", "task.name=pnog"}), 2,
      "needle, babi, regbench, pong; did you mean 'pong'?\n");
}

TEST_F(Training, KeepsARunThatIsThere) {
  done(train_arguments("run"));
  const std::string log = read_file(path("run/metrics.jsonl"));
  const std::string model = read_file(path("run/model/model.safetensors"));
  expect_refused(train("run", {"train.seed=2"}), 2,
                 "already holds a run; continue it with --resume");
  EXPECT_EQ(read_file(path("run/metrics.jsonl")), log);
  EXPECT_EQ(read_file(path("run/model/model.safetensors")), model);
}

TEST_F(Training, StopsWhereTheLossIsNoNumber) {
  const Outcome run = train("run", {"train.learning_rate=1e30", "train.min_learning_rate=1e30",
                                    "train.clip=0", "train.warmup_steps=20"});
  expect_refused(run, 1, "Try a smaller train.learning_rate");
  EXPECT_THAT(run.err, HasSubstr("or a train.clip above 0. "));
  EXPECT_THAT(run.err, ::testing::ContainsRegex("step [0-9]+: the "));
  EXPECT_THAT(run.err, Not(HasSubstr("is nan")));
  EXPECT_THAT(run.err, Not(HasSubstr("-nan")));
  const Outcome kept =
      train("kept", {"train.learning_rate=1e30", "train.min_learning_rate=1e30", "train.clip=0",
                     "train.warmup_steps=0", "train.checkpoint_every=1"});
  expect_refused(kept, 1, "The last checkpoint is " + path("kept/checkpoints/step-"));
  EXPECT_FALSE(std::filesystem::is_empty(path("kept/checkpoints")));
}

TEST_F(Training, SaysWhichModelItTrainsWhereNoneIsNamed) {
  write_text(path("empty.toml"), "");
  const Outcome run = tessera({"train", path("empty.toml"), "--out", path("run"), "--set",
                               "data.text=" + path("none.txt")});
  EXPECT_NE(run.status, 0);
  EXPECT_THAT(run.err, HasSubstr("data.text=" + path("none.txt") + " has no table [model]"));
}

TEST_F(Training, RefusesWhatCannotFitBeforeAnyWork) {
  const Outcome run = train("run", {"model.channels=100000000"});
  expect_refused(run, 2, "model.channels = 100000000");
  EXPECT_THAT(run.err, AllOf(HasSubstr("parameters"), HasSubstr("GB of memory"),
                             HasSubstr("data.vocabulary = 257")));
  const Outcome vocabulary = train("run", {"data.tokenizer=bpe", "data.vocabulary=100"});
  expect_refused(vocabulary, 2, "data.vocabulary is 100, expected 257");
  EXPECT_FALSE(std::filesystem::exists(path("run")));
}

TEST_F(Training, RefusesTextsThatAreNone) {
  const auto refused = [&](const std::string& text, const std::string& message) {
    write_text(path("bad.txt"), text);
    expect_refused(train("run", {"data.text=" + path("bad.txt")}), 3, message);
  };
  refused("", "bad.txt: is empty");
  refused(std::string("bi\0nary", 7), "bad.txt: byte 2 is zero");
  refused("caf\xe9", "bad.txt: byte 3");
  refused("short", "its training part has 5 tokens, a window of 32 needs 33");
  refused(small_text(8), "its validation part has");
  expect_refused(train("run", {"data.text=" + path("none.txt")}), 1, "none.txt: cannot open");
}

TEST_F(Training, WritesSamplesWithACharacterTokenizerThatLacksThePrompt) {
  const std::string run = done(train_arguments(
      "run", {"data.tokenizer=character", "sample.prompt=QUIZ", "train.sample_every=15"}));
  EXPECT_THAT(run, Not(HasSubstr("QUIZ")));
}

TEST_F(Training, TakesATokenizerThatWasLearnedBefore) {
  done({"tokenizer", "train", path("text.txt"), "--vocabulary", "270", "--out", path("t.json")});
  done(train_arguments("run", {"data.tokenizer=" + path("t.json")}));
  // Another tokenizer under the same name is another corpus.
  done({"tokenizer", "train", path("text.txt"), "--vocabulary", "280", "--out", path("t.json")});
  std::filesystem::remove(path("run/metrics.jsonl"));
  std::filesystem::remove_all(path("run/checkpoints"));
  const Outcome again = train("run", {"data.tokenizer=" + path("t.json")});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.err, AllOf(HasSubstr("280 tokens"), Not(HasSubstr("note: data.vocabulary"))));
  const Outcome other = train("other", {"data.tokenizer=" + path("t.json"), "data.vocabulary=300"});
  EXPECT_THAT(other.err, HasSubstr("note: data.vocabulary is 300"));
}

TEST_F(Training, SaysWhatTheDiskRefused) {
  write_text(path("file"), "");
  expect_refused(train("file/run"), 1, "file/run");
  done(train_arguments("run", {"train.steps=10"}));
  const std::string model = read_file(path("run/model/model.safetensors"));

  ProcessOptions small_disk;
  small_disk.largest_file = 70000;  // room for the corpus, not for a checkpoint
  expect_refused(tessera(train_arguments("full"), small_disk), 1, "File too large");
  EXPECT_FALSE(std::filesystem::exists(path("full/model/model.safetensors")));
  expect_refused(tessera(train_arguments("run", {"train.steps=20"}, {"--resume"}), small_disk), 1,
                 "File too large");
  EXPECT_EQ(read_file(path("run/model/model.safetensors")), model);

  // With room again it goes on where it stood.
  done(train_arguments("run", {"train.steps=20"}, {"--resume"}));
  EXPECT_THAT(
      train("run", {"train.steps=22"}, {"--resume"}).err,
      HasSubstr("train.steps was 20 and is 22; because train.decay_steps is 0, the learning "
                "rate now falls until step 22"));
}

}  // namespace
}  // namespace tessera::cli
