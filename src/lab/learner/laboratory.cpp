#include "lab/learner/laboratory.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "lab/baseline/attentional_lstm.h"
#include "lab/baseline/dnc.h"
#include "lab/baseline/fast_weights.h"
#include "lab/baseline/gated_deltanet.h"
#include "lab/baseline/lstm.h"
#include "lab/baseline/ntm.h"
#include "lab/baseline/retnet.h"
#include "lab/baseline/rmc.h"
#include "lab/baseline/vector_lstm.h"
#include "lab/learner/babi/babi_learner.h"
#include "lab/learner/moons/complex_mosaic.h"
#include "lab/learner/pong/pong_learner.h"
#include "lab/learner/regbench/regbench_learner.h"
#include "lab/learner/sequence/task_learner.h"
#include "lab/learner/task_tables.h"
#include "lab/task/sequence/task_kinds.h"
#include "lab/task/stories/story_files.h"
#include "tessera/base/suggestion.h"
#include "tessera/text/corpus.h"

namespace tessera::task {

void add_laboratory() {
  [[maybe_unused]] static const bool added = [] {
    add_model_kinds({
        model_kind_of<Lstm>("recurrent baseline: embedding, LSTM layers, tied logits"),
        model_kind_of<RetNet>("linear attention baseline: a retentive network"),
        model_kind_of<GatedDeltaNet>("linear attention baseline: a gated DeltaNet"),
        model_kind_of<VectorLstm>("recurrent baseline: LSTM layers; reads and writes vectors"),
        model_kind_of<AttentionalLstm>("recurrent baseline: LSTM that attends over its earlier "
                                       "states; reads and writes vectors"),
        model_kind_of<FastWeights>("recurrent network with fast weights; reads and writes vectors"),
        model_kind_of<Rmc>("relational memory core; reads and writes vectors"),
        model_kind_of<Ntm>("Neural Turing Machine; reads and writes vectors"),
        model_kind_of<Dnc>("Differentiable Neural Computer; reads and writes vectors"),
        model_kind_of<ComplexMosaic>("one layer of memories between complex matrices, for the "
                                     "three moons; reads and writes vectors"),
        model_kind_of<QuestionAnswerer>(
            "two-memory model that reads sentences and answers questions about them"),
        model_kind_of<PongNetwork>("agent that plays Pong; reads frames"),
    });
    set_story_writer({.most_stories = stories::kMostStories, .write = stories::story_source});
    return true;
  }();
}

namespace {

using config::Json;

/// The learner of a configuration, which `read` reads. What is wrong with a value of it is said
/// with its file.
template <typename L, auto read>
std::unique_ptr<Learner> learner_of(const Json& configuration, const std::string& where) {
  const auto config = read(configuration, where);
  return config::saying_where(where, [&] { return std::make_unique<L>(config); });
}

/// How a task is learned that is not a SequenceTask.
struct LearnerKind {
  std::string_view task;     ///< its name in a table [task]
  std::string_view summary;  ///< for --help
  std::unique_ptr<Learner> (*make)(const Json& configuration, const std::string& where);
  std::string (*keys)();  ///< of its tables, for --help
};

constexpr LearnerKind kLearnerKinds[] = {
    {BabiLearner::kTask, "On stories with questions, from files as tessera data babi writes them",
     learner_of<BabiLearner, config_without_name<BabiTrainingConfig>>,
     [] { return config::describe_fields<BabiTrainingConfig>(); }},
    {RegBenchLearner::kTask, "On random languages, with a [model] that is trained on texts, too",
     learner_of<RegBenchLearner, RegBenchTrainingConfig::from_json>,
     [] {
       return fmt::format("{}\n[data]\n{}\n[train], as for a text\n",
                          config::describe_fields<RegBenchConfig>({}, "  "),
                          config::describe_fields<RegBenchData>({}, "  "));
     }},
    {PongLearner::kTask, "On the game of Pong",
     learner_of<PongLearner, config_without_name<PongTrainingConfig>>,
     [] { return config::describe_fields<PongTrainingConfig>(); }},
};

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
  return text + describe_models(&ModelKind::reads_vectors) +
         "\nOutputs, and inputs where they are vectors, are the task's. Where a task has tokens,\n"
         "inputs is the width of their embedding. Where answers are tokens, too (mqar,\n"
         "needle, people), [model] may be one that is trained on texts; its window has to hold a\n"
         "sequence.\n";
}

}  // namespace

std::unique_ptr<Learner> make_learner(const Json& configuration, const std::string& where,
                                      const Json& begun) {
  const std::string name = task_name(configuration, where);
  std::vector<std::string> names;
  for (const auto& kind : task_kinds()) names.push_back(kind.name);
  for (const LearnerKind& kind : kLearnerKinds) {
    if (name == kind.task) return kind.make(configuration, where);
    names.emplace_back(kind.task);
  }
  if (!name.empty() && std::ranges::find(names, name) == names.end())
    throw UsageError("{}: task.name is '{}'; the tasks are: {}{}", where, name,
                     fmt::join(names, ", "), suggestion(name, names));
  const auto config = TaskTrainingConfig::from_json(configuration, where, begun);
  return config::saying_where(where, [&] { return std::make_unique<TaskLearner>(config); });
}

std::string describe_learners() {
  std::string text = describe_sequence_tasks();
  for (const LearnerKind& kind : kLearnerKinds)
    text +=
        fmt::format("\n{}:\n\n[task]\n  name = \"{}\"\n{}", kind.summary, kind.task, kind.keys());
  return text;
}

std::string describe_models(bool ModelKind::*holds) {
  std::string text;
  for (const ModelKind& kind : model_kinds())
    if (kind.*holds)
      text += fmt::format("\n[model] kind = \"{}\": {}\n{}", kind.name, kind.summary,
                          kind.describe_fields("  "));
  return text;
}

}  // namespace tessera::task
