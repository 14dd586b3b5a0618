// tessera train CONFIG.toml [--set key=value]… [--out DIR] [--resume]

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "lab/learner/laboratory.h"
#include "program/cli/program.h"
#include "program/model_cli/model_verbs.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/data/command.h"
#include "tessera/model/memory_mosaic.h"
#include "tessera/model/model_kind.h"
#include "tessera/report/study_results.h"
#include "tessera/tensor/device.h"
#include "tessera/tensor/manifest.h"
#include "tessera/text/text_learner.h"
#include "tessera/text/training_memory.h"
#include "tessera/train/checkpoint.h"
#include "tessera/train/metrics_log.h"
#include "tessera/train/processes.h"
#include "tessera/train/shared_training.h"

namespace tessera::cli {
namespace {

struct TrainArguments {
  std::string config, out = "runs/train";
  std::vector<std::string> settings;
  bool resume = false;
};

/// The configuration's name in messages.
std::string source_of(const TrainArguments& options) {
  if (options.settings.empty()) return options.config;
  return fmt::format("{} with --set {}", options.config, fmt::join(options.settings, " "));
}

/// A launcher that starts lost processes once more gives the same command.
Start start_of(const TrainArguments& options, int64_t attempt) {
  const bool began =
      std::filesystem::exists(std::filesystem::path(options.out) / MetricsLog::kFile);
  return options.resume || (attempt > 0 && began) ? Start::kResume : Start::kNew;
}

/// The [model] table of a run that goes on from a checkpoint; null: there is none.
config::Json begun_model(const TrainArguments& options, int64_t attempt) {
  const std::filesystem::path run = options.out, file = run / "config.toml";
  const bool goes_on = start_of(options, attempt) == Start::kResume && is_there(file) &&
                       !Checkpoints(run / "checkpoints", 1).paths().empty();
  return goes_on ? config::read_toml(file).value("model", config::Json()) : config::Json();
}

/// A word as a shell takes it.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:=,";
  const bool plain = !word.empty() && word.find_first_not_of(kPlain) == std::string::npos;
  return plain ? word : shell_quoted(word);
}

/// The command line without --resume: what makes the whole run.
std::string command_of(const TrainArguments& options) {
  std::string command = "tessera train " + quoted(options.config);
  for (const auto& setting : options.settings) command += " --set " + quoted(setting);
  return command + " --out " + quoted(options.out);
}

/// Calls `work`; where a signal stops it, adds how to continue.
template <typename Work>
auto with_advice(Work&& work, std::string_view advice) {
  try {
    return work();
  } catch (const Interrupted& stopped) {
    throw Interrupted(fmt::format("{}; {}", stopped.what(), advice));
  }
}

/// The corpus of a run lies beside its checkpoints.
Corpus prepare(const LanguageModelTrainingConfig& config, const RunFolder& run) {
  Corpus corpus = with_advice(
      [&] { return prepare_corpus(config.data, run.path() / "corpus", run.start(), stderr); },
      "run the same command again");
  say("Text: {}\nTokens: {}; {} for training, {} for validation\n", corpus.description,
      corpus.tokenizer.description(), corpus.training.size(), corpus.validation.size());
  const int64_t vocabulary = config.data.vocabulary;
  if (config.data.tokenizer != "bpe" && vocabulary != CorpusConfig().vocabulary &&
      vocabulary != corpus.tokenizer.vocabulary_size())
    say("tessera: note: data.vocabulary is {} and has no effect, because data.tokenizer is '{}'\n",
        vocabulary, config.data.tokenizer);
  return corpus;
}

constexpr std::string_view kHowToResume = "the same command with --resume continues from there";

/// The report's file.
std::string write_report(const RunFolder& run, const StudyResults& results) {
  const auto path = run.path() / "report.html";
  const config::Json config = config::read_toml(run.path() / "config.toml");
  write_file(path, results.html(config, manifest(config.at("train").at("seed").get<uint64_t>())));
  return path.native();
}

/// Trains, writes the report and prints what came of it. next: a command that goes on from there.
void train_and_report(Learner& learner, const RunFolder& run, const StudyHeading& heading,
                      const std::string& next, Processes* processes) {
  const Trained trained = with_advice(
      [&] { return train(learner, run, stderr, learner.name(), processes); }, kHowToResume);
  StudyResults results(heading);
  learner.add_results(trained, results);
  const std::string report = write_report(run, results);
  const std::string model = (run.path() / "model").native();
  if (!trained.missing.empty())
    throw Interrupted(fmt::format(
        "stopped after the last step; the model is in {}, the report in {}. Not measured: {}; the "
        "same command with --resume measures it",
        model, report, fmt::join(trained.missing, ", ")));
  fmt::print("{}\nModel:  {}\nReport: {} (open it in a browser)\n", results.summary(), model,
             report);
  if (!next.empty()) fmt::print("Next:   {}\n", next);
}

/// Every process but the first: no files, no messages.
void help_on_text(const TrainArguments& options, const LanguageModelTrainingConfig& config,
                  Processes& processes) {
  processes.from_leader({0});  // the text is prepared
  const Corpus corpus = prepare_corpus(config.data, std::filesystem::path(options.out) / "corpus",
                                       Start::kResume, nullptr);
  TextLearner learner(config, corpus);
  help_training(learner, processes);
}

void run_on_text(const TrainArguments& options, const Rendezvous& rendezvous,
                 const LanguageModelTrainingConfig& config) {
  if (rendezvous.count > 1) check_shares(config.train, rendezvous.count);
  const auto processes = meet_processes(rendezvous);
  if (processes && !processes->leads()) return help_on_text(options, config, *processes);
  if (start_of(options, rendezvous.attempt) == Start::kNew) config.data.check_tokenizer();
  check_training_memory(config.model, expected_vocabulary(config.data), config.train.batch);
  named_device(config.train.device);
  const InterruptGuard guard;
  const RunFolder run(options.out, start_of(options, rendezvous.attempt));
  const Corpus corpus = prepare(config, run);
  if (processes) processes->from_leader({0});
  TextLearner learner(config, corpus);
  train_and_report(
      learner, run,
      {"Training of a language model", corpus.description, learner.name(), command_of(options)},
      fmt::format("tessera generate --model {} --prompt TEXT", (run.path() / "model").native()),
      processes.get());
}

void run_on_task(const TrainArguments& options, const Rendezvous& rendezvous,
                 const config::Json& json, const config::Json& begun) {
  const auto learner = task::make_learner(json, source_of(options), begun);
  if (rendezvous.count > 1) learner->check_shares(rendezvous.count);
  const auto processes = meet_processes(rendezvous);
  if (processes && !processes->leads()) return help_training(*learner, *processes);
  const InterruptGuard guard;
  const RunFolder run(options.out, start_of(options, rendezvous.attempt));
  const config::Json& table = json.at("task");
  const std::string task = table.at(table.contains("name") ? "name" : "file");
  train_and_report(*learner, run,
                   {"Training on a task", task, learner->name(), command_of(options)}, "",
                   processes.get());
}

/// Whoever names no network trains one of many layers.
void note_default_model(const TrainArguments& options) {
  const MemoryMosaicConfig config;
  say("tessera: note: {} has no table [model]; the default is trained, "
      "a memory_mosaic of {} layers and {} channels\n",
      source_of(options), config.layers, config.channels);
}

/// A configuration with a table [task] trains on that task, another on a text.
void run_train(const TrainArguments& options) {
  config::Json json = config::read_toml(options.config);
  for (const auto& setting : options.settings) config::set_from_text(json, setting);
  const Rendezvous rendezvous = Rendezvous::from_environment();
  const config::Json begun = begun_model(options, rendezvous.attempt);
  if (json.contains("task")) return run_on_task(options, rendezvous, json, begun);
  const auto config = LanguageModelTrainingConfig::from_json(json, source_of(options), begun);
  if (!json.contains("model")) note_default_model(options);
  run_on_text(options, rendezvous, config);
}

/// The tables and keys of a configuration.
std::string help_on_configurations() {
  return fmt::format(
      "On a text:\n\n[data]\n{}\n[train]\n{}\n[sample]\n{}{}\n"
      "The vocabulary of a model is its tokenizer's.\n\n"
      "[model] from = \"DIR\": go on from the model in a model directory, with its tokenizer\n"
      "and its fields, of which dropout and precision may be changed.\n\n{}",
      config::describe_fields<CorpusConfig>({}, "  "),
      config::describe_fields<TrainConfig>({}, "  "),
      config::describe_fields<SampleConfig>({}, "  "),
      task::describe_models(&ModelKind::language_model), task::describe_learners());
}

}  // namespace

void add_train(Verb& program) {
  auto options = std::make_shared<TrainArguments>();
  Verb& verb = program.verb("train", "Train a language model on a text, or a model on a task");
  verb.option("config", options->config, "TOML file; its tables and keys are listed below")
      .required();
  verb.option("--set", options->settings,
              "Override a key of the file, for example train.steps=1000");
  verb.option("--out", options->out, "Folder of the run");
  verb.flag("--resume", options->resume, "Continue the run in --out from its last checkpoint");
  verb.footer(help_on_configurations);
  verb.run([options] { run_train(*options); });
}

}  // namespace tessera::cli
