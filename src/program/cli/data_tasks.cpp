// tessera data copy, …, tessera data babi, stories, regbench and pong: samples of the tasks as
// files

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "lab/task/babi/simulator.h"
#include "lab/task/pong/pong_players.h"
#include "lab/task/regbench/regbench.h"
#include "lab/task/sequence/sample_arrays.h"
#include "lab/task/sequence/task_kinds.h"
#include "lab/task/stories/story_files.h"
#include "program/cli/program.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"

namespace tessera::cli {
namespace {

struct TaskOptions {
  std::string out, tensors;
  task::Split split = task::Split::kTraining;
  std::vector<std::string> settings;
  int64_t count = 10, first = 0;
  uint64_t seed = 1;
  bool levels = false;
};

void print_levels(const task::SequenceTask& task) {
  for (const task::Level& level : task.levels())
    fmt::print("{:<45} {:>9.4f} {}{}\n", level.strategy, level.value, level.metric,
               level.faultless ? fmt::format(", {:.4f} faultless", *level.faultless) : "");
}

/// Gives each line to its argument.
using Lines = std::function<void(const std::function<void(std::string_view)>&)>;

/// Lines into the file of --out, or on standard output.
void write_lines(const std::string& out, const Lines& produce) {
  if (out.empty()) return produce([](std::string_view line) { fmt::print("{}", line); });
  const InterruptGuard guard;
  AtomicFile file(out);
  int64_t lines = 0;
  produce([&](std::string_view line) {
    InterruptGuard::stop_if_interrupted(out + " was not written: interrupted");
    file.write(line);
    ++lines;
  });
  file.commit();
  fmt::print("{}: {} lines\n", out, lines);
}

/// Samples into the files that are asked for; as lines on standard output where none is.
void write_samples(const std::string& out, const std::string& tensors,
                   const std::function<void()>& write_tensors, const Lines& lines) {
  if (!tensors.empty()) {
    write_tensors();
    fmt::print("{}: {} bytes\n", tensors, std::filesystem::file_size(tensors));
  }
  if (!out.empty() || tensors.empty()) write_lines(out, lines);
}

void run_task(const task::TaskKind& kind, const TaskOptions& options) {
  const auto task = kind.make(with_settings(options.settings));
  if (options.levels) return print_levels(*task);
  const uint64_t seed = task::split_seed(options.seed, options.split);
  write_samples(
      options.out, options.tensors,
      [&] { task::write_tensors(*task, seed, options.first, options.count, options.tensors); },
      [&](const auto& write) {
        task::write_jsonl(*task, seed, options.first, options.count, write);
      });
}

struct SampleFiles {
  Option out, tensors;
};

SampleFiles add_sample_options(Verb& verb, const std::shared_ptr<TaskOptions>& options) {
  verb.option("--count", options->count, "Number of samples");
  verb.option("--first", options->first, "Number of the first sample");
  verb.option("--seed", options->seed, "Random seed of the samples");
  verb.option("--split", options->split, "Each split has samples of its own");
  verb.option("--set", options->settings, "Override a key below: --set key=value");
  return {
      verb.option("--out", options->out,
                  "Write JSON lines with the ground truth to this file instead of standard output"),
      verb.option("--tensors", options->tensors,
                  "Write what a model sees, as one batch, to this safetensors file")};
}

void add_task(Verb& data, const task::TaskKind& kind) {
  auto options = std::make_shared<TaskOptions>();
  Verb& verb = data.verb(kind.name, "Samples: " + kind.summary);
  const SampleFiles files = add_sample_options(verb, options);
  verb.flag("--levels", options->levels, "Only print the scores of trivial strategies")
      .excludes(files.out)
      .excludes(files.tensors);
  verb.footer([&kind] { return kind.fields; });
  verb.run([&kind, options] { run_task(kind, *options); });
}

struct BabiOptions {
  int64_t task = 0;
  std::string out;
  uint64_t seed = 1;
  task::BabiSizes sizes;
};

void add_babi(Verb& data) {
  auto options = std::make_shared<BabiOptions>();
  Verb& verb = data.verb("babi", "Simulated stories with questions, in the format of bAbI");
  verb.option("--task", options->task, "Number of the task").between(1, 20).required();
  verb.option("--out", options->out, "Folder for qaN_train.txt, qaN_valid.txt, qaN_test.txt")
      .required();
  verb.option("--seed", options->seed, "Random seed of the stories");
  verb.option("--train", options->sizes.training, "Questions to train on").at_least(1);
  verb.option("--valid", options->sizes.validation, "Questions to validate on").at_least(1);
  verb.option("--test", options->sizes.test, "Questions to test on").at_least(1);
  verb.run([options] {
    const task::BabiSizes written =
        task::write_babi_folder(options->out, options->task, options->seed, options->sizes);
    fmt::print("{}: task {}, {} questions to train on, {} to validate and {} to test on\n",
               options->out, options->task, written.training, written.validation, written.test);
  });
}

struct StoryOptions {
  std::string out;
  uint64_t seed = 1;
  std::optional<int64_t> stories;
  task::stories::StorySizes sizes;
};

void run_stories(const StoryOptions& options) {
  namespace stories = task::stories;
  stories::StorySizes sizes = options.sizes;
  sizes.stories = options.stories.value_or(sizes.stories);
  if (!options.out.empty()) {
    stories::write_story_folder(options.out, options.seed, sizes);
    fmt::print("{}: train.txt{}{}\n", options.out, sizes.validation > 0 ? ", valid.txt" : "",
               sizes.questions > 0 ? ", questions.jsonl" : "");
    return;
  }
  const uint64_t set = task::split_seed(options.seed, task::Split::kTraining);
  stories::write_stories(set, sizes.words > 0 ? 0 : options.stories.value_or(3), sizes.words,
                         [](std::string_view text) { fmt::print("{}", text); });
}

void add_stories(Verb& data) {
  auto options = std::make_shared<StoryOptions>();
  Verb& verb = data.verb("stories", "Generated stories for children, and questions about them");
  const Option out = verb.option(
      "--out", options->out,
      "Folder for train.txt, valid.txt and questions.jsonl; without it stories are printed");
  verb.option("--seed", options->seed, "Random seed of the stories");
  const Option stories =
      verb.option("--stories", options->stories,
                  "Stories to train on; 10000 where none is given, 3 where they are printed")
          .at_least(1);
  verb.option("--words", options->sizes.words, "Instead: stories until they have so many words")
      .at_least(1)
      .excludes(stories);
  verb.option("--valid", options->sizes.validation, "Stories to validate on")
      .at_least(0)
      .needs(out);
  verb.option("--questions", options->sizes.questions, "Questions of each kind")
      .at_least(0)
      .needs(out);
  verb.run([options] { run_stories(*options); });
}

void run_regbench(const TaskOptions& options, bool known_languages) {
  task::RegBenchConfig config;
  config::from_json(with_settings(options.settings), config, "task");
  const task::RegBench regbench(config);
  const uint64_t sequences = task::split_seed(options.seed, options.split);
  const task::RegBenchSet set{
      known_languages ? task::split_seed(options.seed, task::Split::kTraining) : sequences,
      sequences};
  write_samples(
      options.out, options.tensors,
      [&] {
        task::write_regbench_tensors(regbench, set, options.first, options.count, options.tensors);
      },
      [&](const auto& write) {
        task::write_regbench_jsonl(regbench, set, options.first, options.count, write);
      });
}

void add_regbench(Verb& data) {
  auto options = std::make_shared<TaskOptions>();
  auto known_languages = std::make_shared<bool>(false);
  Verb& verb = data.verb("regbench",
                         "Samples: strings of random regular languages, each with its "
                         "automaton");
  add_sample_options(verb, options);
  verb.flag("--known-languages", *known_languages,
            "The languages of the split 'training', in strings of this split");
  verb.footer([] { return config::describe_fields<task::RegBenchConfig>({}, "  "); });
  verb.run([options, known_languages] { run_regbench(*options, *known_languages); });
}

struct PongOptions {
  task::PongRecord record;
  std::vector<std::string> settings;
  int64_t games = 1;
  std::string out, tensors;
};

void run_pong(PongOptions options) {
  config::from_json(with_settings(options.settings), options.record.environment, "environment");
  options.record.environment.check();
  write_samples(
      options.out, options.tensors,
      [&] { task::write_pong_tensors(options.record, options.tensors); },
      [&](const auto& write) { task::write_pong_jsonl(options.record, options.games, write); });
}

void add_pong(Verb& data) {
  auto options = std::make_shared<PongOptions>();
  Verb& verb = data.verb("pong", "Games of Pong: every action, and what is on the field after it");
  verb.option("--player", options->record.player, "Who plays against the opponent");
  verb.option("--games", options->games, "Number of games");
  verb.option("--seed", options->record.seed, "Random seed of the first game");
  verb.option("--set", options->settings, "Override a key below: --set key=value");
  verb.option("--out", options->out, "Write the JSON lines to this file, not to standard output");
  verb.option("--tensors", options->tensors,
              "Write what an agent sees of the first game to this safetensors file");
  verb.footer([] { return config::describe_fields<task::PongEnvironmentConfig>({}, "  "); });
  verb.run([options] { run_pong(*options); });
}

}  // namespace

void add_task_data(Verb& data) {
  for (const task::TaskKind& kind : task::task_kinds()) add_task(data, kind);
  add_babi(data);
  add_stories(data);
  add_regbench(data);
  add_pong(data);
}

}  // namespace tessera::cli
