#include "lab/study/benchmarks/studies.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace tessera::benchmark_study {

int64_t state_bytes_after(SequenceModel& model, int64_t tokens) {
  const SequenceOutput read = model.read(at::zeros({1, tokens}, at::kLong), model.empty_state());
  int64_t bytes = 0;
  for (const auto& [name, tensor] : read.state.tensors())
    if (tensor.is_floating_point()) bytes += tensor.nbytes();
  return bytes;
}

int64_t state_bytes_per_token(SequenceModel& model, int64_t tokens) {
  return (state_bytes_after(model, 2 * tokens) - state_bytes_after(model, tokens)) / tokens;
}

config::Json NetworkSizes::sized(config::Json model, int64_t window) const {
  model.update({{"layers", layers}, {"channels", channels}, {"window", window}, {"dropout", 0}});
  if (has_heads(model)) model["heads"] = heads;
  return model;
}

BestRate train_at_best_rate(const StudyContext& context, const task::TaskTrainingConfig& config,
                            const std::vector<double>& rates, double solved,
                            const std::string& name, const std::string& folder) {
  const auto score = [](const StudyTraining<task::TaskLearner>& it) {
    return it.trained.validation.at("accuracy");
  };
  std::optional<BestRate> best;
  int64_t tried = 0;
  for (const double rate : rates) {
    task::TaskTrainingConfig with_rate = config;
    with_rate.train = at_rate(config.train, rate);
    const Contestant contestant{.name = name, .folder = fmt::format("{}-rate-{}", folder, rate)};
    if (context.progress()) fmt::print(context.progress(), "{}\n", contestant.folder);
    auto training = unless_diverged([&] {
      return train_alone(context, std::make_shared<task::TaskLearner>(with_rate), contestant);
    });
    ++tried;
    if (!training) continue;
    if (!best || score(*training) > score(best->training)) best = {rate, 0, *std::move(training)};
    if (score(best->training) >= solved) break;
  }
  if (!best) throw std::runtime_error(fmt::format("{}: every learning rate diverges", name));
  best->tried = tried;
  return std::move(*best);
}

}  // namespace tessera::benchmark_study
