// tessera eval --model DIR --data FILE [--per-position CSV], and --task KIND for a model of tasks

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lab/learner/sequence/file_task.h"
#include "lab/learner/sequence/task_learner.h"
#include "lab/task/sequence/task_kinds.h"
#include "program/cli/program.h"
#include "program/model_cli/model_verbs.h"
#include "program/model_jobs/evaluate.h"
#include "tessera/base/config.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/safetensors.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/data/text_source.h"
#include "tessera/model/model_kind.h"
#include "tessera/report/table.h"
#include "tessera/tensor/device.h"
#include "tessera/train/processes.h"

namespace tessera::cli {
namespace {

struct EvalArguments {
  std::string model, store, per_position, task;
  std::vector<std::string> settings;
  int64_t samples = 1280;
  uint64_t seed = 1;
  Placement placement;
  jobs::Evaluate job;
  bool json = false;
};

void write_positions(const LossByPosition& losses, const std::string& path) {
  Table table("", {"position", "loss"});
  for (int64_t position = 0; position < losses.positions(); ++position)
    table.add_row({position + 1, losses.at(position)});
  write_file(path, table.csv());
}

/// As the command line gave it; nothing where it did not.
std::string given_name(std::optional<ops::WeightType> type) {
  return type ? std::string(config::enum_name(*type)) : "";
}

/// Throws UsageError unless all processes evaluate the same.
void require_same_evaluation(Processes& processes, const EvalArguments& options,
                             const ModelFolder& folder, const TextSource& source) {
  const auto weights = safetensors::File::open(weights_in(options.model));
  processes.require_equal("model", fmt::format("{} {}", config::Json(weights.metadata()).dump(),
                                               folder.tokenizer.digest()));
  processes.require_equal(
      "text", fmt::format("{} documents, {} bytes", source.documents(), source.bytes()));
  processes.require_equal(
      "evaluation",
      fmt::format("weights {}, pairs {}, store {}, {}", given_name(options.placement.weights),
                  given_name(options.placement.pairs), options.store,
                  config::to_json(options.job.options).dump()));
}

/// Whether the folder's model is a language model.
bool reads_text(const std::string& folder) {
  return model_kind(kind_and_fields(model_table(folder)).first).language_model;
}

/// The samples of --task or, where there is none, of --data.
std::unique_ptr<task::SequenceTask> task_of(const EvalArguments& options) {
  if (options.task.empty() && options.job.data.empty())
    throw UsageError("this model does not read text: give --task KIND, or --data FILE of samples");
  if (options.task.empty()) return std::make_unique<task::FileTask>(options.job.data);
  return task::task_kind(options.task).make(with_settings(options.settings));
}

void refuse_what_is_for_texts(const EvalArguments& options) {
  jobs::Evaluate plain;
  plain.data = options.job.data;
  const bool as_ever = config::to_json(options.job) == config::to_json(plain);
  if (!as_ever || !options.store.empty() || !options.per_position.empty() ||
      options.placement.weights || options.placement.pairs)
    throw UsageError(
        "samples of a task are read whole, by the model alone: leave out --store, --per-position, "
        "--weights, --pairs, --suffix, --reading, --stride and --batch");
}

/// Throws where the model reads or writes something else than the task has: UsageError, of a file
/// DataError.
Metrics measured(const EvalArguments& options, SequenceModel& model,
                 const task::SequenceTask& task) {
  constexpr int64_t kRows = 128;
  const InterruptGuard interrupt;
  JobBar bar(jobs::Evaluate::kDoing);
  try {
    return task::measure(model, task, task::split_seed(options.seed, task::Split::kTest),
                         task.samples().value_or(options.samples), kRows, std::ref(bar));
  } catch (const UsageError& error) {
    const auto& shape = task.shape();
    const std::string why = fmt::format(
        "does not fit the task, whose inputs are {}: {}",
        shape.input_width > 0 ? fmt::format("vectors of {} numbers", shape.input_width) : "tokens",
        error.what());
    if (options.task.empty()) throw DataError(options.job.data, "{} {}", options.model, why);
    throw UsageError("{} {}", options.model, why);
  }
}

/// A model that reads vectors, or tokens that are no text.
void run_eval_on_task(const EvalArguments& options) {
  refuse_what_is_for_texts(options);
  const auto task = task_of(options);
  const at::Device device = named_device(options.placement.device);
  const auto model = load_sequence_model(options.model);
  model->to(device);
  const Metrics metrics = measured(options, *model, *task);
  jobs::check_finite(metrics.at("loss"));
  if (options.json) return print_json(metrics);
  for (const ShownMetric& shown : task::shown_metrics(*task))
    fmt::print("{:<30} {:.{}f}\n", shown.label, shown.factor * metrics.at(shown.name),
               shown.decimals);
}

void run_eval(const EvalArguments& options) {
  jobs::Evaluate job = options.job;
  if (options.placement.pairs && job.options.reading == Reading::kWindowed)
    throw UsageError(
        "--pairs needs --reading streaming: without it every window begins with empty memories");
  if (job.options.reading == Reading::kStreaming && job.options.batch != EvaluationOptions().batch)
    throw UsageError(
        "--batch counts windows, and --reading streaming has no windows; leave one of them out");
  if (!options.task.empty() || !reads_text(options.model)) return run_eval_on_task(options);
  if (job.data.empty()) throw UsageError("--data is missing: which text is to be read?");
  check_not_input("--per-position", options.per_position, {job.data}, job.suffix);
  const auto processes = meet_processes(Rendezvous::from_environment());
  const bool leads = !processes || processes->leads();
  if (leads && !options.per_position.empty()) check_writable(options.per_position);
  const ModelFolder folder = ModelFolder::load(options.model, options.placement);
  const TextSource source = TextSource::from_path(job.data, job.suffix);
  const auto memory = store_memory(folder, options.model, options.store);
  job.options.memory = memory.get();
  if (processes) require_same_evaluation(*processes, options, folder, source);
  const InterruptGuard interrupt;
  JobBar bar(leads ? jobs::Evaluate::kDoing : "");
  const auto result = job.run(folder, source, processes.get(), std::ref(bar));
  if (!leads) return;
  if (options.json)
    print_json(result.json());
  else
    fmt::print("{} tokens, {} bytes\nloss {:.4f} nats/token\nperplexity {:.2f}\n{:.4f} bits/byte\n",
               result.by_position.tokens(), result.bytes, result.loss(), result.perplexity(),
               result.bits_per_byte());
  if (!options.per_position.empty()) write_positions(result.by_position, options.per_position);
}

}  // namespace

void add_eval(Verb& program) {
  auto options = std::make_shared<EvalArguments>();
  Verb& verb = program.verb(jobs::Evaluate::kName, jobs::Evaluate::kHelp);
  verb.option("--model", options->model, "Model directory").required();
  add_placement(verb, options->placement);
  verb.option("--store", options->store, kStoreHelp);
  const Option data = verb.options(options->job).front().required(false);
  const Option task = verb.option("--task", options->task,
                                  "Instead of a text: the task to measure a model of tasks on; "
                                  "--data may be a file of samples, too")
                          .excludes(data);
  verb.option("--set", options->settings, "Change a key of the task: max_length=30").needs(task);
  verb.option("--samples", options->samples, "Samples of the task").at_least(1).needs(task);
  verb.option("--seed", options->seed, "Seed of the task's samples").needs(task);
  verb.option(
      "--per-position", options->per_position,
      "Write the loss at each position of the window, or of the document, to this CSV file");
  verb.flag("--json", options->json, "Print a JSON object");
  verb.run([options] { run_eval(*options); });
}

}  // namespace tessera::cli
