// tessera train CONFIG.toml [--set key=value]… [--out DIR] [--resume]

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/cli/program.h"
#include "tessera/model/model_kind.h"
#include "tessera/task/language_model/training_memory.h"
#include "tessera/task/language_model/training_report.h"
#include "tessera/tensor/manifest.h"

namespace tessera::cli {
namespace {

struct Options {
  std::string config, out = "runs/train";
  std::vector<std::string> settings;
  bool resume = false;
};

LanguageModelTrainingConfig read_config(const Options& options) {
  config::Json json = config::read_toml(options.config);
  for (const auto& setting : options.settings) config::set_from_text(json, setting);
  return LanguageModelTrainingConfig::from_json(json, options.config);
}

/// The command line without --resume: what makes the whole run.
std::string command_of(const Options& options) {
  std::string command = fmt::format("tessera train {}", options.config);
  for (const auto& setting : options.settings) command += fmt::format(" --set '{}'", setting);
  return command + fmt::format(" --out {}", options.out);
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
  fmt::print(stderr, "Text: {}\nTokens: {}; {} for training, {} for validation\n",
             corpus.description, corpus.tokenizer.description(), corpus.training.size(),
             corpus.validation.size());
  return corpus;
}

std::filesystem::path write_report(const TrainedLanguageModel& trained, const Corpus& corpus,
                                   StudyResults& results) {
  add_training_results({{std::string(trained.model->kind()), &trained}}, corpus, results);
  const auto path = trained.folder / "report.html";
  const config::Json config = config::read_toml(trained.folder / "config.toml");
  write_file(path, results.html(config, manifest(config.at("train").at("seed").get<uint64_t>())));
  return path;
}

void run(const Options& options) {
  const auto config = read_config(options);
  if (!options.resume) config.data.check_tokenizer();
  check_training_memory(config.model, expected_vocabulary(config.data));
  const InterruptGuard guard;
  const RunFolder run(options.out, options.resume ? Start::kResume : Start::kNew);
  const Corpus corpus = prepare(config, run);
  const TrainedLanguageModel trained =
      with_advice([&] { return train_language_model(config, corpus, run, stderr); },
                  "the same command with --resume continues from there");

  StudyResults results({"Training of a language model", corpus.description,
                        std::string(trained.model->kind()), command_of(options)});
  const std::string report = write_report(trained, corpus, results).native();
  const std::string model = (run.path() / "model").native();
  if (!trained.missing.empty())
    throw Interrupted(fmt::format(
        "stopped after the last step; the model is in {}, the report in {}. Not measured: {}; the "
        "same command with --resume measures it",
        model, report, fmt::join(trained.missing, ", ")));
  fmt::print(
      "{}\nModel:  {}\nReport: {} (open it in a browser)\n"
      "Next:   tessera generate --model {} --prompt TEXT\n",
      results.summary(), model, report, model);
}

}  // namespace

void add_train(Verb& program) {
  auto options = std::make_shared<Options>();
  Verb& verb = program.verb("train", "Train a language model on a text");
  verb.option("config", options->config, "TOML file; its tables and keys are listed below")
      .required();
  verb.option("--set", options->settings,
              "Override a key of the file, for example train.steps=1000");
  verb.option("--out", options->out, "Folder of the run");
  verb.flag("--resume", options->resume, "Continue the run in --out from its last checkpoint");
  verb.footer([] {
    std::string text = fmt::format("[data]\n{}\n[train]\n{}\n[sample]\n{}",
                                   config::describe_fields<CorpusConfig>({}, "  "),
                                   config::describe_fields<TrainConfig>({}, "  "),
                                   config::describe_fields<SampleConfig>({}, "  "));
    for (const auto& kind : model_kinds()) {
      if (!kind.language_model) continue;
      text += fmt::format("\n[model] kind = \"{}\": {}\n{}", kind.name, kind.summary,
                          kind.describe_fields("  "));
    }
    return text + "\nThe vocabulary of a model is its tokenizer's.";
  });
  verb.run([options] { run(*options); });
}

}  // namespace tessera::cli
