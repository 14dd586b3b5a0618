// tessera train CONFIG.toml [--set key=value]… [--out DIR] [--resume]

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/interrupt.h"
#include "tessera/cli/program.h"
#include "tessera/model/gpt.h"
#include "tessera/model/memory_mosaic.h"
#include "tessera/task/language_model/training_report.h"
#include "tessera/tensor/manifest.h"

namespace tessera::cli {
namespace {

struct Options {
  std::string config, out;
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

TrainedLanguageModel train_or_stop(const LanguageModelTrainingConfig& config, const Corpus& corpus,
                                   const std::filesystem::path& folder, Start start) {
  try {
    return train_language_model(config, corpus, folder, start, stderr);
  } catch (const Interrupted& stopped) {
    throw Interrupted(
        fmt::format("{}; the same command with --resume goes on from there", stopped.what()));
  }
}

/// The corpus of a run lies beside its checkpoints.
void run(const Options& options) {
  const auto config = read_config(options);
  const std::filesystem::path folder = options.out;
  if (!options.resume && std::filesystem::exists(folder / "metrics.jsonl"))
    throw UsageError("{} already holds a run; --resume goes on with it, --out names another folder",
                     folder.native());
  const Start start = options.resume ? Start::kResume : Start::kNew;
  const Corpus corpus = prepare_corpus(config.data, folder / "corpus", start, stderr);
  fmt::print(stderr, "Text: {}; {}; {} training and {} validation tokens\n", corpus.description,
             corpus.tokenizer.description(), corpus.training.size(), corpus.validation.size());
  const TrainedLanguageModel trained = train_or_stop(config, corpus, folder, start);

  StudyResults results({"Training of a language model", corpus.description,
                        std::string(trained.model->kind()), command_of(options)});
  add_training_results({{std::string(trained.model->kind()), &trained}}, corpus, results);
  write_file(folder / "report.html",
             results.html(config::read_toml(folder / "config.toml"), manifest(config.train.seed)));
  const std::string model = (folder / "model").native();
  fmt::print("{}\nModel: {}\nReport: {}\nGo on with: tessera generate --model {} --prompt TEXT\n",
             results.summary(), model, (folder / "report.html").native(), model);
}

}  // namespace

void add_train(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = program.add_subcommand("train", "Train a language model on a text");
  verb->add_option("config", options->config, "TOML file; its tables and keys are below")
      ->required();
  verb->add_option("--set", options->settings, "Change a key: train.steps=1000");
  verb->add_option("--out", options->out, "Folder of the run")->default_val("runs/train");
  verb->add_flag("--resume", options->resume, "Go on after the last checkpoint of the run");
  verb->footer([] {
    return fmt::format(
        "[data]\n{}\n[train]\n{}\n[sample]\n{}\n"
        "[model] kind = \"memory_mosaic\" (the vocabulary is the tokenizer's)\n{}\n"
        "[model] kind = \"gpt\"\n{}",
        config::describe_fields<CorpusConfig>({}, "  "),
        config::describe_fields<TrainConfig>({}, "  "),
        config::describe_fields<SampleConfig>({}, "  "),
        config::describe_fields<MemoryMosaicConfig>({}, "  "),
        config::describe_fields<GptConfig>({}, "  "));
  });
  verb->callback([options] { run(*options); });
}

}  // namespace tessera::cli
