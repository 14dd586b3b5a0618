// tessera data copy, tessera data convex_hull, …, tessera data babi: samples of the tasks as files

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/cli/program.h"
#include "tessera/task/babi/simulator.h"
#include "tessera/task/sequence/sample_file.h"
#include "tessera/task/sequence/task_kinds.h"

namespace tessera::cli {
namespace {

struct TaskOptions {
  std::string out, tensors, split = "training";
  std::vector<std::string> settings;
  int64_t count = 10, first = 0;
  uint64_t seed = 1;
  bool levels = false;
};

void print_levels(const task::SequenceTask& task) {
  for (const task::Level& level : task.levels())
    fmt::print("{:<45} {:>9.4f} {}\n", level.strategy, level.value, level.metric);
}

void run_task(const std::string& kind, const TaskOptions& options) {
  config::Json settings = config::Json::object();
  for (const auto& setting : options.settings) config::set_from_text(settings, setting);
  const auto task = task::make_task(kind, settings);
  if (options.levels) return print_levels(*task);
  const uint64_t seed =
      task::split_seed(options.seed, config::enum_value<task::Split>(options.split, "--split"));
  if (!options.tensors.empty())
    task::write_tensors(*task, seed, options.first, options.count, options.tensors);
  if (!options.out.empty()) {
    AtomicFile file(options.out);
    task::write_jsonl(*task, seed, options.first, options.count,
                      [&](std::string_view line) { file.write(line); });
    file.commit();
  } else if (options.tensors.empty()) {
    task::write_jsonl(*task, seed, options.first, options.count,
                      [](std::string_view line) { fmt::print("{}", line); });
  }
}

void add_task(CLI::App& data, const task::TaskKind& kind) {
  auto options = std::make_shared<TaskOptions>();
  CLI::App* verb = data.add_subcommand(kind.name, "Samples: " + kind.summary);
  verb->add_option("--count", options->count, "How many samples")->capture_default_str();
  verb->add_option("--first", options->first, "Number of the first one")->capture_default_str();
  verb->add_option("--seed", options->seed, "Another seed, other samples")->capture_default_str();
  verb->add_option("--split", options->split, "training, validation or test")
      ->capture_default_str();
  verb->add_option("--set", options->settings, "Change a key below: --set key=value");
  verb->add_option("--out", options->out,
                   "Write JSON lines with the ground truth into this file, not to standard output");
  verb->add_option("--tensors", options->tensors,
                   "Write what a model sees, as one batch, into this safetensors file");
  verb->add_flag("--levels", options->levels, "Only print what trivial strategies score");
  verb->footer(kind.fields);
  verb->callback([name = kind.name, options] { run_task(name, *options); });
}

struct BabiOptions {
  int64_t task = 0;
  std::string out;
  uint64_t seed = 1;
  task::BabiSizes sizes;
};

void add_babi(CLI::App& data) {
  auto options = std::make_shared<BabiOptions>();
  CLI::App* verb =
      data.add_subcommand("babi", "Simulated stories with questions, in the format of bAbI");
  verb->add_option("--task", options->task, "Task 1 to 20")->required();
  verb->add_option("--out", options->out, "Folder for qaN_train.txt, qaN_valid.txt, qaN_test.txt")
      ->required();
  verb->add_option("--seed", options->seed, "Another seed, other stories")->capture_default_str();
  verb->add_option("--train", options->sizes.training, "Questions to train on")
      ->capture_default_str();
  verb->add_option("--valid", options->sizes.validation, "Questions to validate on")
      ->capture_default_str();
  verb->add_option("--test", options->sizes.test, "Questions to test on")->capture_default_str();
  verb->callback([options] {
    task::write_babi_folder(options->out, options->task, options->seed, options->sizes);
  });
}

}  // namespace

void add_task_data(CLI::App& data) {
  for (const task::TaskKind& kind : task::task_kinds()) add_task(data, kind);
  add_babi(data);
}

}  // namespace tessera::cli
