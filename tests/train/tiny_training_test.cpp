#include "tests/train/tiny_training.h"

#include <ATen/core/grad_mode.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera::test {
namespace {

at::Tensor pattern(std::vector<int64_t> sizes, double step) {
  int64_t n = 1;
  for (int64_t size : sizes) n *= size;
  return at::sin(at::arange(1, n + 1, at::kDouble) * step).to(at::kFloat).view(sizes);
}

}  // namespace

TinyNetwork::TinyNetwork(int64_t inner) {
  first = register_parameter("first", pattern({inner, 4}, 1.3));
  second = register_parameter("second", pattern({3, inner}, 0.7));
  gain = register_parameter("gain", at::ones({inner}));
  calls = register_buffer("calls", at::zeros({1}));
}

at::Tensor TinyNetwork::forward(const at::Tensor& x) {
  at::Tensor hidden = at::tanh(gain * x.matmul(first.t()));  // [B, inner]
  if (is_training()) {
    at::NoGradGuard no_grad;
    calls.add_(1);
  }
  return at::dropout(hidden, 0.2, is_training()).matmul(second.t());  // [B, 3]
}

TinyLearner::TinyLearner(TinyNetwork& network, const TrainConfig& config)
    : Learner(config), network(network) {
  loss_of = [&network](int64_t step, int64_t micro_batch) {
    const at::Tensor x = pattern(
        {5, 4}, 0.1 + 0.01 * static_cast<double>(step) + 0.3 * static_cast<double>(micro_batch));
    return (network.forward(x) - pattern({5, 3}, 2.0)).square().mean();
  };
  evaluation = [&network]() -> Metrics {
    const at::Tensor x = pattern({5, 4}, 0.9);
    return {{"loss", (network.forward(x) - pattern({5, 3}, 2.0)).square().mean().item<double>()}};
  };
  test_score = evaluation;
  sample_after = [&network](int64_t step) {
    return fmt::format("gain {} after {}", network.gain[0].item<float>(), step);
  };
}

config::Json TinyLearner::step_events() {
  return {{"gain", network.gain[0].item<float>()}};
}

void TinyLearner::save(const std::filesystem::path& folder) {
  save_tensors(folder / "tiny.safetensors", {{"weights", weights_of(network)}});
}

config::Json TinyLearner::configuration() const {
  return {{"data", {{"names", names}}}, {"train", config::to_json(training())}};
}

config::Json TinyLearner::completed(const config::Json& written, const std::string&) const {
  return written;
}

std::function<Metrics()> evaluations_with(std::vector<double> losses) {
  return [losses = std::move(losses), next = size_t{0}]() mutable -> Metrics {
    return {{"loss", losses.at(next++)}};
  };
}

TrainConfig tiny_config() {
  return {.steps = 12,
          .accumulation = 2,
          .learning_rate = 0.05,
          .min_learning_rate = 0.005,
          .warmup_steps = 3,
          .clip = 0.5,
          .evaluate_every = 4,
          .checkpoint_every = 3,
          .sample_every = 5};
}

void damage(const std::filesystem::path& checkpoint) {
  std::string bytes = read_file(checkpoint);
  bytes[bytes.size() - 3] ^= 1;
  write_file(checkpoint, bytes);
}

at::Tensor weights_of(const torch::nn::Module& module) {
  std::vector<at::Tensor> all;
  for (const auto& item : module.named_parameters()) all.push_back(item.value().detach().flatten());
  for (const auto& item : module.named_buffers()) all.push_back(item.value().flatten());
  return at::cat(all).clone();
}

}  // namespace tessera::test
