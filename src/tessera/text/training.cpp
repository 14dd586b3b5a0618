#include "tessera/text/training.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/base/random.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/data/token_stream.h"
#include "tessera/infer/generate.h"
#include "tessera/model/language_model.h"
#include "tessera/model/model_kind.h"
#include "tessera/text/best_model.h"
#include "tessera/text/training_memory.h"
#include "tessera/train/metrics_log.h"
#include "tessera/train/processes.h"
#include "tessera/train/shared_training.h"
#include "tessera/train/trainer.h"
#include "tessera/train/training_display.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using config::Json;

at::Tensor as_tensor(const std::vector<int64_t>& ids, int64_t rows, int64_t length) {
  return at::tensor(ids, at::kLong).view({rows, length});
}

/// The model in config.from, with the fields of the configuration.
std::shared_ptr<LanguageModel> make_model_from(const std::string& folder, const std::string& kind,
                                               const Json& fields, const Corpus& corpus) {
  if (const auto weights = weights_of_model(folder); weights != ops::WeightType::kFloat32)
    throw DataError(folder,
                    "keeps its weights in {}, which are only read; train on from the model in "
                    "float32 that it was exported from",
                    config::enum_name(weights));
  const auto source = load_model(folder);
  if (source->vocabulary() < corpus.tokenizer.vocabulary_size())
    throw DataError(folder, "has {} tokens, its tokenizer {}", source->vocabulary(),
                    corpus.tokenizer.vocabulary_size());
  auto model = make_language_model(kind, fields);
  at::NoGradGuard no_grad;
  const auto weights = source->named_parameters();
  for (auto& parameter : model->named_parameters())
    parameter.value().copy_(weights[parameter.key()]);
  return model;
}

/// The model that the [model] table describes, for this vocabulary.
std::shared_ptr<LanguageModel> make_model(const LanguageModelTrainingConfig& config,
                                          const Corpus& corpus) {
  Json fields = config.model;
  const auto kind = fields.at("kind").get<std::string>();
  fields.erase("kind");
  if (!config.from.empty()) return make_model_from(config.from, kind, fields, corpus);
  const int64_t vocabulary = corpus.tokenizer.vocabulary_size();
  if (fields.contains("vocabulary") && fields["vocabulary"] != vocabulary)
    throw UsageError("model.vocabulary is {}, but the tokenizer has {} tokens; leave it out",
                     fields["vocabulary"].dump(), vocabulary);
  fields["vocabulary"] = vocabulary;
  auto model = make_language_model(kind, fields);
  model->initialise(config.train.seed);
  return model;
}

/// Median over the steps of a run, in all its processes, tokens per second.
double median_speed(const fs::path& folder) {
  std::vector<double> speeds;
  for (const auto& line : MetricsLog::read(folder / "metrics.jsonl"))
    if (line.contains("tokens_per_second")) speeds.push_back(line["tokens_per_second"]);
  if (speeds.empty()) return 0;
  const auto middle = speeds.begin() + speeds.size() / 2;
  std::nth_element(speeds.begin(), middle, speeds.end());
  return *middle;
}

/// Reads the loss from its device once. Throws Interrupted between two batches after a signal.
Metrics evaluate(LanguageModel& model, const TokenBatch& windows, int64_t batch,
                 const Corpus& corpus, TrainingDisplay& display) {
  const at::Tensor inputs = as_tensor(windows.inputs, windows.rows, windows.length);
  const at::Tensor targets = as_tensor(windows.targets, windows.rows, windows.length);
  at::Tensor sum = at::zeros({}, at::kDouble);
  for (int64_t row = 0; row < windows.rows; row += batch) {
    InterruptGuard::stop_if_interrupted("stopped while measuring the validation loss");
    const int64_t rows = std::min(batch, windows.rows - row);
    const at::Tensor loss = model.loss(inputs.narrow(0, row, rows), targets.narrow(0, row, rows));
    sum = sum.to(loss.device()) + rows * loss.to(at::kDouble);
    display.on_batch_evaluated(row / batch + 1, (windows.rows + batch - 1) / batch);
  }
  const double loss = sum.item<double>() / windows.rows;
  return {{"loss", loss}, {"bits_per_byte", corpus.bits_per_byte(loss)}};
}

std::string evaluation_text(const Metrics& metrics) {
  return fmt::format("validation loss {:.4f} nats/token, {:.4f} bits/byte", metrics.at("loss"),
                     metrics.at("bits_per_byte"));
}

/// The configuration with every default of the model filled in.
Json resolved_config(const LanguageModelTrainingConfig& config, const LanguageModel& model) {
  Json resolved = config.to_json();
  resolved["model"] = model_table(model);
  if (!config.from.empty()) resolved["model"]["from"] = config.from;
  return resolved;
}

/// Windows drawn from the training text, and the validation windows. Refers to all arguments.
TrainingTask training_task(const TrainConfig& config, const Corpus& corpus, LanguageModel& model,
                           const Json& resolved, TrainingDisplay& display) {
  const int64_t batch = config.batch, window = model.window();
  TrainingTask task{.module = model, .loss = {}, .evaluate = {}, .sample = {}, .digest = {}};
  task.loss = [&config, &model, batch, window,
               sampler = WindowSampler(corpus.training, batch, window, config.seed)](
                  int64_t step, int64_t micro_batch) {
    const int64_t draw = step * config.accumulation + micro_batch;
    const TokenBatch tokens = sampler.batch(draw);
    const uint64_t dropout_seed = RandomStream(config.seed, static_cast<uint64_t>(draw))();
    return model.loss(as_tensor(tokens.inputs, batch, window),
                      as_tensor(tokens.targets, batch, window), dropout_seed);
  };
  task.evaluate = [&model, &corpus, &display, batch,
                   windows = WindowSampler(corpus.validation, batch, window, 0)
                                 .evaluation_windows(config.evaluate_batches * batch)] {
    return evaluate(model, windows, batch, corpus, display);
  };
  task.tokens_per_step = batch * window * config.accumulation;
  task.digest = fmt::format("{} {}", corpus.digest, resolved.at("model").dump());
  return task;
}

/// What the report shows besides the losses of the training, until a signal comes.
void measure(TrainedLanguageModel& trained, const Corpus& corpus, const TrainConfig& config,
             const SampleConfig& sample, std::FILE* progress) {
  LanguageModel& model = *trained.model;
  model.eval();
  trained.position_loss =
      measure_position_loss(model, corpus, position_loss_windows(config), config.batch, progress);
  const auto& [nats, windows, planned] = trained.position_loss;
  if (windows < planned)
    trained.missing.push_back(
        fmt::format("the loss by position ({} of {} windows were measured)", windows, planned));
  if (sample.tokens == 0) return;
  if (!InterruptGuard::interrupted()) {
    Progress bar(progress, "Sample", sample.tokens);
    try {
      trained.sample = write_sample(model, corpus.tokenizer, sample, config.seed,
                                    [&](int64_t tokens) { bar.update(tokens); });
    } catch (const Interrupted&) {  // while the prompt was read
    }
  }
  if (InterruptGuard::interrupted()) trained.missing.push_back("the sample");
}

/// Throws DataError where either part of the corpus is shorter than a window and its last target.
void check_length(const Corpus& corpus, int64_t window) {
  for (const auto& [part, stream] :
       {std::pair("training", &corpus.training), std::pair("validation", &corpus.validation)})
    if (stream->size() <= window)
      throw DataError(corpus.description,
                      "its {} part has {} tokens, a window of {} needs {}; give more text or a "
                      "smaller model.window",
                      part, stream->size(), window, window + 1);
}

/// The configured prompt, or the beginning of the validation text where the tokenizer lacks it.
std::string sample_prompt(const std::string& prompt, const Corpus& corpus) {
  constexpr int64_t kTokens = 16;
  try {
    if (!corpus.tokenizer.encode(prompt).empty() || corpus.tokenizer.end_of_text()) return prompt;
  } catch (const DataError&) {
  }
  std::vector<int64_t> ids(std::min(kTokens, corpus.validation.size()));
  corpus.validation.read(0, ids);
  return corpus.tokenizer.decode(std::vector<int32_t>(ids.begin(), ids.end()));
}

}  // namespace

std::string write_sample(LanguageModel& model, const Tokenizer& tokenizer,
                         const SampleConfig& sample, uint64_t seed,
                         const std::function<void(int64_t)>& on_token) {
  const auto ids = tokenizer.encode(sample.prompt);
  GenerateOptions options;
  options.max_tokens = sample.tokens;
  options.sampling = {.temperature = sample.temperature, .top_k = sample.top_k, .seed = seed};
  options.token_bytes = [&](int64_t id) {
    return std::string(tokenizer.token_bytes(static_cast<int32_t>(id)));
  };
  if (const auto end = tokenizer.end_of_text()) options.end_of_text = *end;
  const auto continuations = generate(model, {{Tokens(ids.begin(), ids.end())}}, options,
                                      [&, written = int64_t{0}](const GeneratedToken&) mutable {
                                        if (on_token) on_token(++written);
                                        return true;
                                      });
  return sample.prompt + continuations.front().text;
}

TrainedLanguageModel train_language_model(const LanguageModelTrainingConfig& config,
                                          const Corpus& corpus, const RunFolder& run,
                                          std::FILE* progress, Processes* processes) {
  config.train.check();
  check_training_memory(config.model, corpus.tokenizer.vocabulary_size());
  const InterruptGuard guard;
  auto model = make_model(config, corpus);
  check_length(corpus, model->window());
  const Json resolved = resolved_config(config, *model);
  SampleConfig sample = config.sample;
  sample.prompt = sample_prompt(sample.prompt, corpus);
  TrainingDisplay display(progress, std::string(model->kind()),
                          {.unit = "tok", .evaluation = evaluation_text});
  TrainingTask task = training_task(config.train, corpus, *model, resolved, display);
  task.sample = [&](int64_t step) {
    return write_sample(*model, corpus.tokenizer, sample, static_cast<uint64_t>(step));
  };
  task.processes = processes;
  Trainer trainer(config.train, std::move(task), run.path(), &display);
  run.write_configuration(
      resolved,
      [](const Json& written, const std::string& where) {
        return LanguageModelTrainingConfig::from_json(written, where).to_json();
      },
      processes == nullptr ? 1 : processes->count());
  const TrainingResult result = trainer.run(run.start());

  display.show(fmt::format("saving the weights with the lowest validation loss in {}",
                           (run.path() / "model").native()));
  display.finish();
  save_best_model(*model, run.path());
  corpus.tokenizer.save(run.path() / "model" / "tokenizer.json");
  TrainedLanguageModel trained;
  trained.model = model;
  trained.folder = run.path();
  trained.validation_loss = result.best_validation_loss.value_or(NAN);
  trained.bits_per_byte = corpus.bits_per_byte(trained.validation_loss);
  trained.tokens_per_second = median_speed(run.path());
  if (result.evaluation_is_missing)
    trained.missing.push_back("the validation loss after the last step");
  measure(trained, corpus, config.train, sample, progress);
  return trained;
}

void help_train_language_model(const LanguageModelTrainingConfig& config, const Corpus& corpus,
                               Processes& processes) {
  auto model = make_model(config, corpus);
  check_length(corpus, model->window());
  TrainingDisplay silent(nullptr, std::string(model->kind()), {});
  TrainingTask task =
      training_task(config.train, corpus, *model, resolved_config(config, *model), silent);
  task.processes = &processes;
  help_training(config.train, task);
}

}  // namespace tessera
