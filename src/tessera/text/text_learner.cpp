#include "tessera/text/text_learner.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/data/token_stream.h"
#include "tessera/infer/evaluation.h"
#include "tessera/infer/generate.h"
#include "tessera/model/initialisation.h"
#include "tessera/model/language_model.h"
#include "tessera/model/model_kind.h"
#include "tessera/text/text_results.h"
#include "tessera/text/training_memory.h"

namespace tessera {
namespace {

using config::Json;

constexpr double kShareOfTraining = 0.1;  // of the windows that the training read
constexpr double kFewestWindows = 8, kMostWindows = 256;

/// Training goes on with the tokens that the model knows.
void use_tokenizer_of(const SourceModel& source, const Json& given, CorpusConfig& data) {
  const std::string path = (std::filesystem::path(source.folder) / "tokenizer.json").native();
  if (given.contains("tokenizer") && given["tokenizer"] != path)
    throw UsageError("data.tokenizer is {}, but model.from uses {}; leave data.tokenizer out",
                     given["tokenizer"].dump(), path);
  if (!source.has_begun && !std::filesystem::exists(path))
    throw UsageError(
        "model.from: '{}' has no tokenizer.json; import the model with --tokenizer, or copy its "
        "tokenizer there",
        source.folder);
  data.tokenizer = path;
}

/// Uses the default kind where none is given.
void check_model(Json& model) {
  if (!model.is_object()) throw UsageError("model is {}, expected a table", model.dump());
  if (!model.contains("kind")) model["kind"] = "memory_mosaic";
  const auto [kind, fields] = kind_and_fields(model);
  check_language_model(kind, fields);
}

at::Tensor inputs_of(const TokenBatch& windows) {  // [rows, window]
  return at::tensor(windows.inputs, at::kLong).view({windows.rows, windows.length});
}
at::Tensor targets_of(const TokenBatch& windows) {  // [rows, window]
  return at::tensor(windows.targets, at::kLong).view({windows.rows, windows.length});
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

/// The model that the [model] table describes, for this vocabulary.
std::shared_ptr<LanguageModel> make_model(const LanguageModelTrainingConfig& config,
                                          const Corpus& corpus) {
  const int64_t vocabulary = corpus.tokenizer.vocabulary_size();
  check_training_memory(config.model, vocabulary, config.train.batch);
  auto [kind, fields] = kind_and_fields(config.model);
  std::shared_ptr<LanguageModel> model;
  if (!config.from.folder.empty()) {
    model = make_language_model(kind, fields);
    if (model->vocabulary() < vocabulary)
      throw DataError(config.from.folder, "has {} tokens, its tokenizer {}", model->vocabulary(),
                      vocabulary);
    copy_weights(config.from, *model);
  } else {
    if (fields.contains("vocabulary") && fields["vocabulary"] != vocabulary)
      throw UsageError("model.vocabulary is {}, but the tokenizer has {} tokens; leave it out",
                       fields["vocabulary"].dump(), vocabulary);
    fields["vocabulary"] = vocabulary;
    model = make_language_model(kind, fields);
    model->initialise(config.train.seed);
  }
  check_length(corpus, model->window());
  return model;
}

/// The configured prompt, or the beginning of the validation text where the tokenizer lacks it: of
/// its first document, as the name of an end of text need not be a text that the tokenizer knows.
std::string sample_prompt(const std::string& prompt, const Corpus& corpus) {
  constexpr int64_t kTokens = 16;
  try {
    if (!corpus.tokenizer.encode(prompt).empty() || corpus.tokenizer.end_of_text()) return prompt;
  } catch (const DataError&) {
  }
  std::vector<int64_t> ids(std::min(kTokens, corpus.validation.size()));
  corpus.validation.read(0, ids);
  ids.erase(std::ranges::find(ids, corpus.tokenizer.end_of_text()), ids.end());
  return corpus.tokenizer.decode(std::vector<int32_t>(ids.begin(), ids.end()));
}

/// The sample's prompt and the model's continuation of it. on_token: called with the tokens written
/// so far. A signal ends the text early while an InterruptGuard lives.
std::string write_sample(LanguageModel& model, const Tokenizer& tokenizer,
                         const SampleConfig& sample, uint64_t seed,
                         const std::function<void(int64_t)>& on_token = {}) {
  const auto ids = tokenizer.encode(sample.prompt);
  GenerateOptions options;
  options.max_tokens = sample.tokens;
  options.sampling = {.temperature = sample.temperature, .top_k = sample.top_k, .seed = seed};
  options.token_bytes = [&](int64_t id) { return bytes_of(tokenizer, id); };
  options.end_of_text = tokenizer.end_of_text();
  const auto continuations = generate(model, {{Tokens(ids.begin(), ids.end())}}, options,
                                      [&, written = int64_t{0}](const GeneratedToken&) mutable {
                                        if (on_token) on_token(++written);
                                        return true;
                                      });
  return sample.prompt + continuations.front().text;
}

}  // namespace

LanguageModelTrainingConfig LanguageModelTrainingConfig::from_json(const Json& json,
                                                                   const std::string& where,
                                                                   const Json& begun) {
  LanguageModelTrainingConfig config;
  config::read_tables(json,
                      {{"model", &config.model},
                       {"data", config::fields_of(config.data)},
                       {"train", config::fields_of(config.train)},
                       {"sample", config::fields_of(config.sample)}},
                      where);
  config::saying_where(where, [&] {
    config.from = take_source_model(config.model, begun);
    if (!config.from.folder.empty())
      use_tokenizer_of(config.from, json.value("data", Json::object()), config.data);
    check_model(config.model);
    config.data.check();
    config.train.check();
  });
  return config;
}

Json LanguageModelTrainingConfig::to_json() const {
  return {{"model", with_source_model(model, from)},
          {"data", config::to_json(data)},
          {"train", config::to_json(train)},
          {"sample", config::to_json(sample)}};
}

int64_t position_loss_windows(const TrainConfig& config) {
  const double read = static_cast<double>(config.steps) * static_cast<double>(config.batch) *
                      static_cast<double>(config.accumulation);
  return static_cast<int64_t>(std::clamp(kShareOfTraining * read, kFewestWindows, kMostWindows));
}

PositionLoss measure_position_loss(LanguageModel& model, const Corpus& corpus, int64_t windows,
                                   int64_t batch, std::FILE* progress) {
  const TokenBatch drawn =
      WindowSampler(corpus.validation, 1, model.window(), 0).evaluation_windows(windows);
  PositionLoss result{.nats = {}, .windows = 0, .planned = drawn.rows};
  Progress bar(progress, "Loss by position", drawn.rows);
  bar.update(0);
  LossByPosition losses;
  const at::Tensor last_targets = targets_of(drawn).narrow(1, drawn.length - 1, 1);
  for (const at::Tensor& rows : at::cat({inputs_of(drawn), last_targets}, 1).split(batch)) {
    if (InterruptGuard::interrupted()) break;
    losses.add(model, rows);
    result.windows += rows.size(0);
    bar.update(result.windows, fmt::format("{} windows", result.windows));
  }
  for (int64_t position = 0; position < losses.positions(); ++position)
    result.nats.push_back(losses.at(position));
  return result;
}

TextLearner::TextLearner(const LanguageModelTrainingConfig& config, const Corpus& corpus)
    : Learner(config.train),
      config_(config),
      sample_(config.sample),
      corpus_(corpus),
      model_(make_model(config, corpus)),
      sampler_(corpus.training, config.train.batch, model_->window(), config.train.seed),
      validation_(WindowSampler(corpus.validation, config.train.batch, model_->window(), 0)
                      .evaluation_windows(config.train.evaluate_batches * config.train.batch)) {
  sample_.prompt = sample_prompt(sample_.prompt, corpus);
}

torch::nn::Module& TextLearner::module() {
  return *model_;
}

at::Tensor TextLearner::loss(int64_t step, int64_t micro_batch) {
  const int64_t draw = step * training().accumulation + micro_batch;
  const TokenBatch tokens = sampler_.batch(draw);
  return model_->loss(inputs_of(tokens), targets_of(tokens), derived_seed(training().seed, draw));
}

/// Reads the loss from its device once.
Metrics TextLearner::evaluate(const OnBatch& on_batch) {
  const int64_t batch = training().batch, windows = validation_.rows;
  const at::Tensor inputs = inputs_of(validation_), targets = targets_of(validation_);
  at::Tensor sum = at::zeros({}, at::kDouble);
  for (int64_t row = 0; row < windows; row += batch) {
    InterruptGuard::stop_if_interrupted("stopped while measuring the validation loss");
    const int64_t rows = std::min(batch, windows - row);
    const at::Tensor loss = model_->loss(inputs.narrow(0, row, rows), targets.narrow(0, row, rows));
    sum = sum.to(loss.device()) + rows * loss.to(at::kDouble);
    on_batch(row / batch + 1, (windows + batch - 1) / batch);
  }
  const double loss = sum.item<double>() / windows;
  return {{"loss", loss}, {"bits_per_byte", corpus_.bits_per_byte(loss)}};
}

Metrics TextLearner::test(std::FILE* progress) {
  std::vector<std::string> missing;
  position_loss_ = measure_position_loss(*model_, corpus_, position_loss_windows(training()),
                                         training().batch, progress);
  const auto& [nats, windows, planned] = position_loss_;
  if (windows < planned)
    missing.push_back(
        fmt::format("the loss by position ({} of {} windows were measured)", windows, planned));
  if (sample_.tokens > 0) {
    if (!InterruptGuard::interrupted()) {
      Progress bar(progress, "Sample", sample_.tokens);
      try {
        written_ = write_sample(*model_, corpus_.tokenizer, sample_, training().seed,
                                [&](int64_t tokens) { bar.update(tokens); });
      } catch (const Interrupted&) {  // while the prompt was read
      }
    }
    if (InterruptGuard::interrupted()) missing.push_back("the sample");
  }
  if (!missing.empty()) throw Interrupted(fmt::format("{}", fmt::join(missing, ", ")));
  return {};
}

std::string TextLearner::sample(int64_t step) {
  std::string text = write_sample(*model_, corpus_.tokenizer, sample_, static_cast<uint64_t>(step));
  InterruptGuard::stop_if_interrupted("stopped while a sample was written");
  return text;
}

void TextLearner::save(const std::filesystem::path& folder) {
  save_model(folder, *model_);
  corpus_.tokenizer.save(folder / "tokenizer.json");
}

Json TextLearner::configuration() const {
  Json resolved = config_.to_json();
  resolved["model"] = with_source_model(model_table(*model_), config_.from);
  return resolved;
}

Json TextLearner::completed(const Json& written, const std::string& where) const {
  return LanguageModelTrainingConfig::from_json(written, where, written.value("model", Json()))
      .to_json();
}

std::string TextLearner::digest() const {
  return fmt::format("{} {}", corpus_.digest, configuration().at("model").dump());
}

std::string TextLearner::name() const {
  return std::string(model_->kind());
}

int64_t TextLearner::units_per_step() const {
  return Learner::units_per_step() * model_->window();
}

std::vector<ShownMetric> TextLearner::shown() const {
  return {{.name = "loss", .label = "loss (nats/token)", .decimals = 4},
          {.name = "bits_per_byte", .label = "bits per byte", .decimals = 4}};
}

void TextLearner::add_results(const Trained& trained, StudyResults& results) {
  add_text_results({{name(), this, &trained}}, corpus_, results);
}

}  // namespace tessera
