#include "tessera/task/language_model/training.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tessera/base/file.h"
#include "tessera/base/progress.h"
#include "tessera/base/random.h"
#include "tessera/base/suggestion.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/data/window_sampler.h"
#include "tessera/infer/evaluation.h"
#include "tessera/infer/generate.h"
#include "tessera/tensor/manifest.h"

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
  const auto kind = fields.at("kind").get<std::string>();
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
  TrainingDisplay(std::FILE* stream, std::string name, std::function<std::string(int64_t)> sample)
      : stream_(stream), name_(std::move(name)), sample_(std::move(sample)) {}

  void on_start(int64_t step, int64_t steps) override {
    progress_ = std::make_unique<Progress>(stream_, name_, steps, step);
  }
  void on_step(const StepMetrics& metrics) override {
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

 private:
  std::FILE* stream_;
  std::string name_;
  std::function<std::string(int64_t)> sample_;
  std::unique_ptr<Progress> progress_;
};

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

/// Takes the kind for granted where there is none.
void check_model(Json& model) {
  if (!model.is_object()) throw UsageError("model is {}, expected a table", model.dump());
  if (!model.contains("kind")) model["kind"] = "memory_mosaic";
  if (!model["kind"].is_string())
    throw UsageError("model.kind is {}, expected a name", model["kind"].dump());
  Json fields = model;
  fields.erase("kind");
  check_language_model(model["kind"].get<std::string>(), fields);
}

/// Throws DataError where either part of the corpus is shorter than a window and its last target.
void check_length(const Corpus& corpus, int64_t window) {
  for (const auto& [part, stream] :
       {std::pair("training", &corpus.training), std::pair("validation", &corpus.validation)})
    if (stream->size() <= window)
      throw DataError(corpus.description,
                      "its {} part has {} tokens, a window of {} needs {}; give more text, or a "
                      "smaller model.window",
                      part, stream->size(), window, window + 1);
}

/// "train.learning_rate" and so on with their values.
std::map<std::string, Json> leaves(const Json& tables) {
  std::map<std::string, Json> result;
  for (const auto& [table, fields] : tables.items())
    for (const auto& [key, value] : fields.items()) result[table + "." + key] = value;
  return result;
}

/// Throws UsageError where a run that began with the configuration `file` may not go on with `now`.
void check_same_run(const fs::path& file, const Json& now) {
  static const std::set<std::string> kMayChange = {"train.steps", "train.threads",
                                                   "train.checkpoint_every",
                                                   "train.keep_checkpoints", "train.sample_every"};
  const auto began = leaves(
      LanguageModelTrainingConfig::from_json(config::read_toml(file), file.native()).to_json());
  for (const auto& [key, value] : leaves(now)) {
    const auto before = began.find(key);
    if (before == began.end() || before->second == value) continue;
    if (key.starts_with("sample.") || kMayChange.count(key)) continue;
    throw UsageError(
        "{} began with {} = {}, now it is {}; give the same to go on with it, or choose another "
        "folder",
        file.parent_path().native(), key, before->second.dump(), value.dump());
  }
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
  try {
    check_model(config.model);
    config.train.check();
  } catch (const UsageError& error) {
    throw UsageError("{}{}{}", where, where.empty() ? "" : ": ", error.what());
  }
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
  check_length(corpus, model->window());
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
  task.digest = fmt::format("{} {}", corpus.digest, resolved["model"].dump());

  SampleConfig sample = config.sample;
  sample.prompt = sample_prompt(sample.prompt, corpus);
  TrainingDisplay display(progress, std::string(model->kind()), [&](int64_t step) {
    return write_sample(*model, corpus.tokenizer, sample, static_cast<uint64_t>(step));
  });
  Trainer trainer(config.train, task, folder, &display);
  const fs::path config_file = folder / "config.toml";
  const bool goes_on = start == Start::kResume && fs::exists(config_file);
  if (goes_on) check_same_run(config_file, resolved);
  write_file(config_file, config::to_toml(resolved));
  if (!goes_on) write_file(folder / "manifest.json", manifest(config.train.seed).dump(2) + "\n");
  const TrainingResult result = trainer.run(start);

  save_best(*model, corpus.tokenizer, folder);
  model->eval();
  TrainedLanguageModel trained;
  trained.model = model;
  trained.folder = folder;
  trained.validation_loss = result.best_validation_loss.value_or(NAN);
  trained.bits_per_byte = corpus.bits_per_byte(trained.validation_loss);
  trained.tokens_per_second = median_speed(folder);
  trained.position_loss = loss_by_position(*model, corpus);
  trained.sample = write_sample(*model, corpus.tokenizer, sample, config.train.seed);
  return trained;
}

}  // namespace tessera
