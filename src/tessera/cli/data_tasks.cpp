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
  std::string out, tensors;
  task::Split split = task::Split::kTraining;
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
  const uint64_t seed = task::split_seed(options.seed, options.split);
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

void add_task(Verb& data, const task::TaskKind& kind) {
  auto options = std::make_shared<TaskOptions>();
  Verb& verb = data.verb(kind.name, "Samples: " + kind.summary);
  verb.option("--count", options->count, "Number of samples");
  verb.option("--first", options->first, "Number of the first sample");
  verb.option("--seed", options->seed, "Random seed of the samples");
  verb.option("--split", options->split, "Each split has samples of its own");
  verb.option("--set", options->settings, "Override a key below: --set key=value");
  verb.option("--out", options->out,
              "Write JSON lines with the ground truth to this file instead of standard output");
  verb.option("--tensors", options->tensors,
              "Write what a model sees, as one batch, to this safetensors file");
  verb.flag("--levels", options->levels, "Only print the scores of trivial strategies");
  verb.footer([fields = kind.fields] { return fields; });
  verb.run([name = kind.name, options] { run_task(name, *options); });
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
    task::write_babi_folder(options->out, options->task, options->seed, options->sizes);
  });
}

}  // namespace

void add_task_data(Verb& data) {
  for (const task::TaskKind& kind : task::task_kinds()) add_task(data, kind);
  add_babi(data);
}

}  // namespace tessera::cli
