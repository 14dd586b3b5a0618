#include "tessera/train/trainer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/tensor/device.h"
#include "tessera/train/detail/gradients.h"
#include "tessera/train/metrics_log.h"
#include "tessera/train/shared_training.h"

namespace tessera {
namespace {

using config::Json;

constexpr uint64_t kEvaluationDraw = UINT64_MAX, kSampleDraw = UINT64_MAX - 1;

double seconds_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

/// When the run of this folder began, in seconds since 1970, as its manifest says it; 0 where it
/// has none.
double began(const std::filesystem::path& folder) {
  const auto file = folder / "manifest.json";
  if (!is_there(file)) return 0;
  const Json manifest = config::read_json(file);
  const Json date = manifest.is_object() ? manifest.value("date", Json()) : Json();
  std::tm time{};
  if (!date.is_string() || ::strptime(date.get_ref<const std::string&>().c_str(),
                                      "%Y-%m-%dT%H:%M:%SZ", &time) == nullptr)
    return 0;
  return static_cast<double>(::timegm(&time));
}

/// The learner's module, on the device of the configuration.
torch::nn::Module& placed_module(Learner& learner) {
  learner.module().to(named_device(learner.training().device));
  return learner.module();
}

bool due(int64_t step, int64_t every) {
  return every > 0 && step % every == 0;
}

/// The module in evaluation mode and without gradients, for as long as one lives.
class Evaluating {
 public:
  explicit Evaluating(torch::nn::Module& module) : module_(module) { module_.eval(); }
  ~Evaluating() { module_.train(); }

 private:
  torch::nn::Module& module_;
  at::NoGradGuard no_grad_;
};

/// Tells the other processes that the training has ended, however it does.
class HelpersToEnd {
 public:
  explicit HelpersToEnd(Processes* processes) : processes_(processes) {}
  ~HelpersToEnd() {
    if (processes_ == nullptr) return;
    try {
      exchange(*processes_, {.kind = Order::Kind::kEnd});
    } catch (const ProcessLost&) {  // they know
    }
  }

 private:
  Processes* processes_;
};

}  // namespace

Trainer::Trainer(Learner& learner, std::filesystem::path run_folder, TrainingObserver* observer,
                 Processes* processes)
    : learner_(learner),
      config_(learner.training()),
      processes_(processes),
      folder_(std::move(run_folder)),
      observer_(observer),
      optimizer_(config_.make_optimizer(trainable_parameters(placed_module(learner)))),
      checkpoints_(folder_ / "checkpoints", config_.keep_checkpoints) {}

Trainer::~Trainer() = default;

TrainingResult Trainer::run(Start start) {
  InterruptGuard guard;
  if (config_.threads > 0) at::set_num_threads(static_cast<int>(config_.threads));
  learner_.module().train();
  begin(start);
  if (processes_) start_together(learner_, *optimizer_, *processes_);
  const HelpersToEnd helpers(processes_);
  open_log();
  if (state_.step > 0) finish_last_step();
  while (!has_ended()) {
    report_step(train_step());
    follow_step();
  }
  result_.step = state_.step;
  if (state_.step < config_.steps) result_.early_end = early_end();
  result_.best_validation_loss = state_.best_validation_loss;
  result_.evaluation_is_missing = state_.evaluation_is_missing;
  return result_;
}

void Trainer::follow_step() {
  state_.validation_loss.reset();
  state_.evaluation_is_missing = state_.sample_is_missing = false;
  const bool evaluates = has_ended() || due(state_.step, config_.evaluate_every);
  const bool best = evaluates && evaluate();
  const bool last = has_ended();
  if (due(state_.step, config_.sample_every)) sample();
  const bool interrupted = InterruptGuard::interrupted();
  if (last || best || interrupted || due(state_.step, config_.checkpoint_every)) save_checkpoint();
  if (interrupted && !last) throw stopped();
}

void Trainer::finish_last_step() {
  const bool evaluates = is_to_be_evaluated();
  if (!evaluates && !state_.sample_is_missing) return;
  const bool last = has_ended();
  if (evaluates) evaluate();
  if (state_.sample_is_missing) sample();
  if (!state_.evaluation_is_missing) save_checkpoint();
  if (!last && (state_.evaluation_is_missing || state_.sample_is_missing)) throw stopped();
}

bool Trainer::is_to_be_evaluated() const {
  return state_.evaluation_is_missing || (has_ended() && !is_evaluated());
}

bool Trainer::is_evaluated() const {
  if (state_.validation_loss) return true;
  const auto logged = logged_evaluations(folder_);
  const auto found = logged.find(state_.step);
  return found != logged.end() && !std::isfinite(loss_of(found->second));
}

std::string Trainer::early_end() const {
  const auto& best = state_.best_validation_loss;
  if (config_.stop_loss > 0 && best && *best <= config_.stop_loss)
    return fmt::format("the validation loss, {:.4g}, has reached train.stop_loss, {:g}", *best,
                       config_.stop_loss);
  if (config_.patience > 0 && state_.evaluations_since_best >= config_.patience)
    return fmt::format("no lower validation loss, train.patience = {}", config_.patience);
  return "";
}

Interrupted Trainer::stopped() const {
  return Interrupted(fmt::format("stopped after step {} of {}; its checkpoint is in {}",
                                 state_.step, config_.steps, folder_.native()));
}

void Trainer::begin(Start start) {
  state_ = {};
  state_.seed = config_.seed;
  state_.digest = learner_.digest();
  if (start == Start::kResume)
    resume();
  else if (std::filesystem::exists(folder_ / MetricsLog::kFile) || !checkpoints_.paths().empty())
    throw UsageError("{} already holds a run; resume it, or choose another folder",
                     folder_.native());
}

void Trainer::open_log() {
  std::vector<MetricsForm> forms;
  if (config_.tensorboard) forms.push_back(tensorboard_form(began(folder_)));
  if (config_.csv) forms.push_back(csv_form());
  const bool continues = state_.step > 0;
  std::vector<std::string> written_again;  // the run was killed before they were in a checkpoint
  if (continues && is_to_be_evaluated()) written_again.push_back("evaluation");
  if (continues && state_.sample_is_missing) written_again.push_back("sample");
  log_ = std::make_unique<MetricsLog>(folder_ / MetricsLog::kFile, continues ? state_.step : -1,
                                      std::move(forms), written_again);
  started_ = seconds_now() - state_.elapsed_seconds;
  if (observer_) observer_->on_start(state_.step, config_.steps);
}

void Trainer::resume() {
  remove_unfinished_files(folder_);
  remove_unfinished_files(folder_ / "checkpoints");
  const auto checkpoint = checkpoints_.latest([&](const std::string& message) { warn(message); });
  if (!checkpoint) {
    warn(folder_.native() + " holds no checkpoint yet; training starts from the beginning");
    return;
  }
  const TrainingState& saved = checkpoint->state;
  const auto require_same = [&](std::string_view what, const auto& then, const auto& now) {
    if (then != now)
      throw UsageError(
          "{} was trained with another {} ({}, now {}); give the same configuration, or choose "
          "another folder",
          checkpoint->file.path, what, then, now);
  };
  require_same("seed", saved.seed, config_.seed);
  require_same("configuration", saved.digest, learner_.digest());
  checkpoint->restore(learner_.module(), *optimizer_);
  state_ = saved;
}

StepMetrics Trainer::train_step() {
  const double began = seconds_now();
  const double rate = learning_rate();
  if (processes_) exchange(*processes_, {Order::Kind::kUpdate, state_.step, rate});
  const auto [loss, norm, scale] = compute_gradient(learner_, *optimizer_, state_.step, processes_);
  if (!std::isfinite(loss))
    throw Diverged(fmt::format("step {}: the loss is {}; {}", state_.step + 1,
                               std::isnan(loss) ? "not a number (NaN)" : "infinite", advice()));
  if (!std::isfinite(norm))
    throw Diverged(
        fmt::format("step {}: the gradient of '{}' is infinite or not a number (loss {:.4g}); {}",
                    state_.step + 1, optimizer_->parameter_with_bad_gradient(), loss, advice()));
  optimizer_->step(rate, scale);
  gradient_norm_ = norm;
  ++state_.step;
  state_.elapsed_seconds = elapsed_seconds();
  return {state_.step,
          state_.step * learner_.units_per_step(),
          loss,
          rate,
          norm,
          static_cast<double>(learner_.units_per_step()) / (seconds_now() - began),
          state_.elapsed_seconds};
}

double Trainer::learning_rate() const {
  const bool halved = config_.halve_loss > 0 && state_.best_validation_loss &&
                      *state_.best_validation_loss < config_.halve_loss;
  return config_.schedule().at(state_.step) * (halved ? 0.5 : 1.0);
}

void Trainer::report_step(const StepMetrics& metrics) {
  result_.loss = metrics.loss;
  Json line = {{"kind", "step"},
               {"step", metrics.step},
               {"tokens", metrics.tokens},
               {"loss", metrics.loss},
               {"learning_rate", metrics.learning_rate},
               {"gradient_norm", metrics.gradient_norm},
               {"tokens_per_second", metrics.tokens_per_second},
               {"elapsed_seconds", metrics.elapsed_seconds}};
  line.update(learner_.step_events());
  log_->write(line);
  if (observer_) observer_->on_step(metrics);
}

bool Trainer::evaluate() {
  seed_generator(config_.seed, state_.step, kEvaluationDraw);
  state_.evaluation_is_missing = true;
  Metrics metrics;
  try {
    Evaluating mode(learner_.module());
    metrics = learner_.evaluate([this](int64_t batch, int64_t batches) {
      if (observer_) observer_->on_batch_evaluated(batch, batches);
    });
  } catch (const Interrupted&) {
    return false;
  }
  state_.evaluation_is_missing = false;
  state_.elapsed_seconds = elapsed_seconds();
  Json line = {
      {"kind", "evaluation"}, {"step", state_.step}, {"elapsed_seconds", state_.elapsed_seconds}};
  for (const auto& [name, value] : metrics) line["metrics"][name] = value;
  log_->write(line);
  if (observer_) observer_->on_evaluation(state_.step, metrics);

  ++state_.evaluations_since_best;
  const double loss = loss_of(metrics);
  if (!std::isfinite(loss)) return false;
  state_.validation_loss = loss;
  if (state_.best_validation_loss && *state_.best_validation_loss <= loss) return false;
  state_.best_validation_loss = loss;
  state_.evaluations_since_best = 0;
  return true;
}

void Trainer::sample() {
  state_.sample_is_missing = InterruptGuard::interrupted();
  if (state_.sample_is_missing) return;
  seed_generator(config_.seed, state_.step, kSampleDraw);
  std::string text;
  try {
    Evaluating mode(learner_.module());
    text = learner_.sample(state_.step);
  } catch (const Interrupted&) {
    state_.sample_is_missing = true;
    return;
  }
  if (text.empty()) return;
  log_->write({{"kind", "sample"}, {"step", state_.step}, {"text", text}});
  if (observer_) observer_->on_sample(state_.step, text);
}

void Trainer::save_checkpoint() {
  log_->sync();  // so that no checkpoint is ahead of its log
  if (processes_ && config_.share_optimizer) {
    optimizer_->clear_gradients();  // the others' state is there instead for a moment
    exchange(*processes_, {.kind = Order::Kind::kGatherState});
  }
  const auto path = checkpoints_.save(learner_.module(), *optimizer_, state_);
  if (observer_) observer_->on_checkpoint(state_.step, path);
}

void Trainer::warn(const std::string& message) {
  if (observer_) observer_->on_warning(message);
}

double Trainer::elapsed_seconds() const {
  return seconds_now() - started_;
}

std::string Trainer::advice() const {
  const auto saved = checkpoints_.paths();
  return fmt::format(
      "the training has diverged (learning rate {:.3g}, last gradient norm {:.3g}). Try a smaller "
      "train.learning_rate, more train.warmup_steps or a {}. {}",
      learning_rate(), gradient_norm_,
      config_.clip > 0 ? "smaller train.clip" : "train.clip above 0",
      saved.empty() ? "There is no checkpoint yet"
                    : fmt::format("The last checkpoint is {}: --resume with train.steps set to its "
                                  "step makes the weights of the best evaluation the model",
                                  saved.back().native()));
}

}  // namespace tessera
