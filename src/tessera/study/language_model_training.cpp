#include "tessera/study/language_model_training.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/file.h"
#include "tessera/base/manifest.h"
#include "tessera/base/progress.h"
#include "tessera/base/random.h"
#include "tessera/data/window_sampler.h"
#include "tessera/infer/generate.h"
#include "tessera/infer/scoring.h"
#include "tessera/model/model_directory.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using config::Json;

constexpr int64_t kPositionWindows = 256;  // windows behind the loss at each position

at::Tensor as_tensor(const std::vector<int64_t>& ids, int64_t rows, int64_t length) {
  return at::tensor(ids, at::kLong).view({rows, length});
}

/// The model that the [model] table describes, for this vocabulary.
std::shared_ptr<LanguageModel> make_model(const LanguageModelTrainingConfig& config,
                                          const Corpus& corpus) {
  Json fields = config.model;
  const std::string kind = fields.value("kind", "memory_mosaic");
  fields.erase("kind");
  const int64_t vocabulary = corpus.tokenizer.vocabulary_size();
  if (fields.contains("vocabulary") && fields["vocabulary"] != vocabulary)
    throw UsageError("model.vocabulary is {}, but the tokenizer has {} tokens; leave it out",
                     fields["vocabulary"].dump(), vocabulary);
  fields["vocabulary"] = vocabulary;
  auto model = make_language_model(kind, fields);
  model->initialise(config.train.seed);
  return model;
}

/// Shows a training on a stream: a bar with loss and speed, evaluations and samples as lines.
class TrainingDisplay : public TrainingObserver {
 public:
  TrainingDisplay(std::FILE* stream, std::string name, const Corpus& corpus,
                  std::function<std::string(int64_t)> sample)
      : stream_(stream), name_(std::move(name)), corpus_(corpus), sample_(std::move(sample)) {}

  void on_start(int64_t step, int64_t steps) override {
    progress_ = std::make_unique<Progress>(stream_, name_, steps, step);
  }
  void on_step(const StepMetrics& metrics) override {
    speeds_.push_back(metrics.tokens_per_second);
    progress_->update(metrics.step, fmt::format("loss {:.3f}, {:.0f} tok/s", metrics.loss,
                                                metrics.tokens_per_second));
  }
  void on_evaluation(int64_t step, const Metrics& metrics) override {
    progress_->message(
        fmt::format("{}: step {}: validation loss {:.4f} nats/token, {:.4f} bits/byte", name_, step,
                    metrics.at("loss"), metrics.at("bits_per_byte")));
  }
  void on_sample(int64_t step) override {
    if (stream_) progress_->message(fmt::format("{}: step {}: {}", name_, step, sample_(step)));
  }
  void on_warning(const std::string& message) override {
    if (progress_)
      progress_->message(name_ + ": " + message);
    else if (stream_)
      fmt::print(stream_, "{}: {}\n", name_, message);
  }

  /// Median over the steps, tokens per second.
  double speed() const {
    if (speeds_.empty()) return 0;
    std::vector<double> sorted = speeds_;
    std::nth_element(sorted.begin(), sorted.begin() + sorted.size() / 2, sorted.end());
    return sorted[sorted.size() / 2];
  }

 private:
  std::FILE* stream_;
  std::string name_;
  const Corpus& corpus_;
  std::function<std::string(int64_t)> sample_;
  std::unique_ptr<Progress> progress_;
  std::vector<double> speeds_;
};

Metrics evaluate(LanguageModel& model, const TokenBatch& windows, int64_t batch,
                 const Corpus& corpus) {
  const at::Tensor inputs = as_tensor(windows.inputs, windows.rows, windows.length);
  const at::Tensor targets = as_tensor(windows.targets, windows.rows, windows.length);
  double sum = 0;
  for (int64_t row = 0; row < windows.rows; row += batch) {
    const int64_t rows = std::min(batch, windows.rows - row);
    sum +=
        rows * model.loss(inputs.narrow(0, row, rows), targets.narrow(0, row, rows)).item<double>();
  }
  const double loss = sum / windows.rows;
  return {{"loss", loss}, {"bits_per_byte", corpus.bits_per_byte(loss)}};
}

/// Over windows spread evenly through the validation text.
std::vector<double> loss_by_position(LanguageModel& model, const Corpus& corpus) {
  const TokenBatch windows =
      WindowSampler(corpus.validation, 1, model.window(), 0).evaluation_windows(kPositionWindows);
  const at::Tensor inputs = as_tensor(windows.inputs, windows.rows, windows.length);
  const at::Tensor last =
      as_tensor(windows.targets, windows.rows, windows.length).narrow(1, windows.length - 1, 1);
  LossByPosition losses;
  for (const at::Tensor& some : at::cat({inputs, last}, 1).split(8)) losses.add(model, some);
  std::vector<double> means;
  for (int64_t position = 0; position < losses.positions(); ++position)
    means.push_back(losses.at(position));
  return means;
}

/// The weights with the lowest validation loss as a model directory.
void save_best(LanguageModel& model, const Tokenizer& tokenizer, const fs::path& folder) {
  if (const auto best = Checkpoints(folder / "checkpoints", 1).best())
    Checkpoint::load(*best).restore(model);
  save_model(folder / "model", model);
  tokenizer.save(folder / "model" / "tokenizer.json");
}

}  // namespace

LanguageModelTrainingConfig LanguageModelTrainingConfig::from_json(const Json& json,
                                                                   const std::string& where) {
  LanguageModelTrainingConfig config;
  for (const auto& [key, table] : json.items()) {
    const std::string path = where.empty() ? key : where + ": " + key;
    if (key == "model")
      config.model = table;
    else if (key == "data")
      config::from_json(table, config.data, path);
    else if (key == "train")
      config::from_json(table, config.train, path);
    else if (key == "sample")
      config::from_json(table, config.sample, path);
    else
      throw UsageError("{}: unknown table '{}'{}", where.empty() ? "configuration" : where, key,
                       suggestion(key, {"model", "data", "train", "sample"}));
  }
  if (!config.model.is_object()) throw UsageError("{}: model must be a table", where);
  if (!config.model.contains("kind")) config.model["kind"] = "memory_mosaic";
  return config;
}

Json LanguageModelTrainingConfig::to_json() const {
  return {{"model", model},
          {"data", config::to_json(data)},
          {"train", config::to_json(train)},
          {"sample", config::to_json(sample)}};
}

std::string write_sample(LanguageModel& model, const Tokenizer& tokenizer,
                         const SampleConfig& sample, uint64_t seed) {
  const auto ids = tokenizer.encode(sample.prompt);
  GenerateOptions options;
  options.max_tokens = sample.tokens;
  options.sampling = {.temperature = sample.temperature, .top_k = sample.top_k, .seed = seed};
  options.token_bytes = [&](int64_t id) {
    return std::string(tokenizer.token_bytes(static_cast<int32_t>(id)));
  };
  if (const auto end = tokenizer.end_of_text()) options.end_of_text = *end;
  return sample.prompt + generate(model, {{Tokens(ids.begin(), ids.end())}}, options).front().text;
}

TrainedLanguageModel train_language_model(const LanguageModelTrainingConfig& config,
                                          const Corpus& corpus, const fs::path& folder, Start start,
                                          std::FILE* progress) {
  config.train.check();
  auto model = make_model(config, corpus);
  const int64_t batch = config.train.batch, window = model->window();
  const WindowSampler sampler(corpus.training, batch, window, config.train.seed);
  const TokenBatch validation = WindowSampler(corpus.validation, batch, window, 0)
                                    .evaluation_windows(config.train.evaluate_batches * batch);
  Json resolved = config.to_json();
  resolved["model"] = model->hyper_parameters();
  resolved["model"]["kind"] = std::string(model->kind());

  TrainingTask task{.module = *model, .loss = {}, .evaluate = {}, .digest = {}};
  task.loss = [&](int64_t step, int64_t micro_batch) {
    const int64_t draw = step * config.train.accumulation + micro_batch;
    const TokenBatch tokens = sampler.batch(draw);
    const uint64_t dropout_seed = RandomStream(config.train.seed, static_cast<uint64_t>(draw))();
    return model->loss(as_tensor(tokens.inputs, batch, window),
                       as_tensor(tokens.targets, batch, window), dropout_seed);
  };
  task.evaluate = [&] { return evaluate(*model, validation, batch, corpus); };
  task.tokens_per_step = batch * window * config.train.accumulation;
  task.digest = fmt::format("{:016x} {}", corpus.digest, resolved["model"].dump());

  TrainingDisplay display(progress, std::string(model->kind()), corpus, [&](int64_t step) {
    return write_sample(*model, corpus.tokenizer, config.sample, static_cast<uint64_t>(step));
  });
  Trainer trainer(config.train, task, folder, &display);
  if (start == Start::kNew || !fs::exists(folder / "config.toml")) {
    write_file(folder / "config.toml", config::to_toml(resolved));
    write_file(folder / "manifest.json", manifest(config.train.seed).dump(2) + "\n");
  }
  const TrainingResult result = trainer.run(start);

  save_best(*model, corpus.tokenizer, folder);
  model->eval();
  TrainedLanguageModel trained;
  trained.model = model;
  trained.folder = folder;
  trained.validation_loss = result.best_validation_loss.value_or(NAN);
  trained.bits_per_byte = corpus.bits_per_byte(trained.validation_loss);
  trained.tokens_per_second = display.speed();
  trained.position_loss = loss_by_position(*model, corpus);
  trained.sample = write_sample(*model, corpus.tokenizer, config.sample, config.train.seed);
  return trained;
}

}  // namespace tessera
