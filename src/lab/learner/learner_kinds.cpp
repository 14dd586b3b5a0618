#include "lab/learner/learner_kinds.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "lab/learner/babi/babi_learner.h"
#include "lab/learner/pong/pong_learner.h"
#include "lab/learner/regbench/regbench_learner.h"
#include "lab/learner/sequence/task_learner.h"
#include "lab/learner/task_name.h"
#include "lab/task/sequence/task_kinds.h"
#include "tessera/base/suggestion.h"
#include "tessera/model/model_kind.h"

namespace tessera::task {
namespace {

using config::Json;

/// A configuration whose table [task] has the name alone.
template <config::Configuration Config>
Config read_configuration(const Json& configuration, const std::string& where) {
  Config config;
  config::from_json(without_task_name(configuration), config, where);
  return config;
}

/// Empty where the task is of files.
std::string task_name(const Json& configuration, const std::string& where) {
  const Json& task = configuration.at("task");
  if (task.is_object() && task.contains("file")) return "";
  if (task.is_object() && task.contains("name") && task["name"].is_string()) return task["name"];
  throw UsageError("{}: task is {}, expected a table with 'name', a name, or with 'file'", where,
                   task.dump());
}

std::string describe_sequence_tasks() {
  std::string text = "On a task:\n\n[task]\n";
  for (const auto& kind : task_kinds())
    text += fmt::format("  name = \"{}\": {}; keys: tessera data {} --help\n", kind.name,
                        kind.summary, kind.name);
  text +=
      "  file, validation, test: instead of a name, samples of your own (.safetensors as\n"
      "  tessera data NAME --tensors writes it, or JSON lines)\n";
  text += fmt::format("\n[data]\n{}\n[train], the same keys with other defaults\n{}",
                      config::describe_fields<SampleSets>({}, "  "),
                      config::describe_fields(default_task_training(), "  "));
  for (const auto& kind : model_kinds())
    if (kind.reads_vectors)
      text += fmt::format("\n[model] kind = \"{}\": {}\n{}", kind.name, kind.summary,
                          kind.describe_fields("  "));
  return text +
         "\nOutputs, and inputs where they are vectors, are the task's. Where a task has tokens,\n"
         "inputs is the width of their embedding. Where answers are tokens, too (mqar),\n"
         "[model] may be one that is trained on texts; its window has to hold a sequence.\n";
}

}  // namespace

std::unique_ptr<Learner> make_learner(const Json& configuration, const std::string& where) {
  const std::string name = task_name(configuration, where);
  if (name == kBabiName)
    return std::make_unique<BabiLearner>(
        read_configuration<BabiTrainingConfig>(configuration, where));
  if (name == kPongName)
    return std::make_unique<PongLearner>(
        read_configuration<PongTrainingConfig>(configuration, where));
  if (name == kRegBenchName)
    return std::make_unique<RegBenchLearner>(
        RegBenchTrainingConfig::from_json(configuration, where));
  std::vector<std::string> names;
  for (const auto& kind : task_kinds()) names.push_back(kind.name);
  for (const auto other : {kBabiName, kRegBenchName, kPongName}) names.emplace_back(other);
  if (!name.empty() && std::ranges::find(names, name) == names.end())
    throw UsageError("{}: task.name is '{}'{}; the tasks are: {}", where, name,
                     suggestion(name, names), fmt::join(names, ", "));
  return std::make_unique<TaskLearner>(TaskTrainingConfig::from_json(configuration, where));
}

std::string describe_learners() {
  return describe_sequence_tasks() +
         fmt::format(
             "\nOn stories with questions, from files as tessera data babi writes them:\n\n"
             "[task]\n  name = \"{}\"\n{}",
             kBabiName, config::describe_fields<BabiTrainingConfig>()) +
         fmt::format(
             "\nOn random languages, with a [model] that is trained on texts, too:\n\n"
             "[task]\n  name = \"{}\"\n{}\n[data]\n{}\n[train], as for a text\n",
             kRegBenchName, config::describe_fields<RegBenchConfig>({}, "  "),
             config::describe_fields<RegBenchData>({}, "  ")) +
         fmt::format("\nOn the game of Pong:\n\n[task]\n  name = \"{}\"\n{}", kPongName,
                     config::describe_fields<PongTrainingConfig>());
}

}  // namespace tessera::task
