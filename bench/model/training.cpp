// Training steps (forward, backward, clipping, AdamW): our Memory Mosaic in float and with bfloat16
// products, the same weights as dense tensor formulas, a Memory Mosaic v2 and a GPT of equal size.
// The variants take turns, and of each the fastest step counts, so that other work on the machine
// disturbs ratios little. The share of the peak is what the step's model (3 times the products of
// its forward pass, nothing recomputed) makes of the fastest float product of 2048 x 2048 matrices
// seen meanwhile.
//
// 768 channels are GPT-2's size: 12 layers, its vocabulary. VARIANT: a part of the names of those
// that take part. DEVICE: cpu, or cuda, where a step has 32,768 tokens and the product is of
// 8192 x 8192 matrices.
//
//   tessera_bench model/training CHANNELS WINDOW THREADS [ROUNDS [VARIANT [DEVICE]]]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>

#include "bench/model/dense_mosaic.h"
#include "bench/support/clocks.h"
#include "bench/support/peak_memory.h"
#include "bench/support/program.h"
#include "tessera/model/gpt.h"
#include "tessera/model/memory_mosaic.h"
#include "tessera/model/memory_mosaic_v2.h"
#include "tessera/tensor/device.h"
#include "tessera/train/checkpoint.h"
#include "tessera/train/optimizer.h"

namespace tessera::bench::training {
namespace {

struct Shape {
  int64_t channels, window;
  at::Device device;
  bool gpt2() const { return channels >= 768; }
  int64_t layers() const { return gpt2() ? 12 : channels >= 384 ? 6 : 4; }
  int64_t heads() const { return channels / 64; }
  int64_t vocabulary() const { return gpt2() ? 50257 : 4096; }
  int64_t batch() const { return (!device.is_cpu() ? 32768 : gpt2() ? 1024 : 2048) / window; }
  int64_t tokens() const { return batch() * window; }
  /// Of the linear maps, slots or feed-forward layer, causal read and head, forward and backward.
  double model_flops() const {
    const double maps = 12.0 * channels * channels, read = 1.0 * channels * window;
    return 6.0 * tokens() * (layers() * (maps + read) + vocabulary() * channels);
  }
};

template <typename Config>
Config config_of(const Shape& shape, ops::Precision precision) {
  Config config;
  config.vocabulary = shape.vocabulary();
  config.window = shape.window;
  config.layers = shape.layers();
  config.heads = shape.heads();
  config.channels = shape.channels;
  config.dropout = 0;
  config.precision = precision;
  if constexpr (std::same_as<Config, MemoryMosaicV2Config>)
    config.persistent_width = 2 * shape.channels;  // equal size
  return config;
}

class Variant {
 public:
  using Loss = std::function<at::Tensor(const at::Tensor& tokens, const at::Tensor& targets)>;

  Variant(std::string name, const Shape& shape, std::shared_ptr<LanguageModel> model, Loss loss)
      : name_(std::move(name)), model_(std::move(model)), loss_(std::move(loss)) {
    model_->to(shape.device);
    optimizer_ = std::make_unique<AdamW>(trainable_parameters(*model_), AdamWConfig());
  }

  void step(const at::Tensor& tokens, const at::Tensor& targets) {
    const bench::PeakMemory memory;
    const double seconds = seconds_of([&] {
      optimizer_->clear_gradients();
      const at::Tensor loss = loss_(tokens, targets);
      loss.backward();
      optimizer_->step(1e-3, clip_scale(optimizer_->gradient_norm(), 1.0));
      last_loss_ = loss.item<double>();
    });
    best_ = std::min(best_, seconds);
    peak_ = std::max(peak_, memory.mebibytes());
  }

  void report(const Shape& shape, double baseline, double peak_flops) const {
    fmt::print("{:<22} {:>9} {:>9.1f} {:>9.0f} {:>7.2f} {:>8.0f}% {:>9.0f} {:>8.4f}\n", name_,
               model_->parameter_count(), 1e3 * best_, shape.tokens() / best_, baseline / best_,
               100 * shape.model_flops() / best_ / peak_flops, peak_, last_loss_);
  }
  double best() const { return best_; }

 private:
  std::string name_;
  std::shared_ptr<LanguageModel> model_;
  Loss loss_;
  std::unique_ptr<AdamW> optimizer_;
  double best_ = std::numeric_limits<double>::infinity();
  double peak_ = 0;
  double last_loss_ = 0;
};

template <typename Model, typename Config>
Variant own(std::string name, const Shape& shape, ops::Precision precision) {
  const auto model = std::make_shared<Model>(config_of<Config>(shape, precision));
  return {std::move(name), shape, model,
          [model](const at::Tensor& tokens, const at::Tensor& targets) {
            return model->loss(tokens, targets);
          }};
}

Variant dense(const Shape& shape) {
  const auto config = config_of<MemoryMosaicConfig>(shape, ops::Precision::kFloat32);
  const auto model = std::make_shared<MemoryMosaic>(config);
  const auto loss = [=](const at::Tensor& tokens, const at::Tensor& targets) {
    return DenseMosaic(*model, config).loss(tokens, targets);
  };
  const at::Tensor text = at::arange(shape.window + 1).remainder(shape.vocabulary()).unsqueeze(0);
  const at::Tensor tokens = text.slice(1, 0, shape.window), targets = text.slice(1, 1);
  const double ours = model->loss(tokens, targets).item<double>();
  const double formulas = loss(tokens, targets).item<double>();
  if (std::abs(ours - formulas) > 1e-3)
    throw std::logic_error(
        fmt::format("the formulas have a loss of {}, the network of {}", formulas, ours));
  return {"mosaic, dense formulas", shape, model, loss};
}

std::vector<Variant> variants_of(const Shape& shape, const std::string& name) {
  using ops::Precision;
  const auto wanted = [&](std::string_view one) { return one.find(name) != std::string::npos; };
  std::vector<Variant> variants;
  for (const auto& [type, precision] :
       {std::pair{"fp32", Precision::kFloat32}, std::pair{"bf16", Precision::kBFloat16}}) {
    const auto named = [&](const char* kind) { return fmt::format("{} {}", kind, type); };
    if (wanted(named("mosaic")))
      variants.push_back(own<MemoryMosaic, MemoryMosaicConfig>(named("mosaic"), shape, precision));
    if (wanted(named("mosaic v2")))
      variants.push_back(
          own<MemoryMosaicV2, MemoryMosaicV2Config>(named("mosaic v2"), shape, precision));
    if (wanted(named("gpt")))
      variants.push_back(own<Gpt, GptConfig>(named("gpt"), shape, precision));
  }
  if (wanted("mosaic, dense formulas")) variants.push_back(dense(shape));
  return variants;
}

void run(const Shape& shape, int rounds, const std::string& variant_name) {
  std::vector<Variant> variants = variants_of(shape, variant_name);

  const int64_t width = shape.device.is_cpu() ? 2048 : 8192;
  const at::Tensor square = at::randn({width, width}, shape.device);
  double peak_flops = 0;
  for (int round = 0; round < rounds; ++round) {
    at::manual_seed(round);
    const at::Tensor text = at::rand({shape.batch(), shape.window + 1})
                                .square()
                                .mul(shape.vocabulary())
                                .to(shape.device, at::kLong);
    const at::Tensor tokens = text.narrow(1, 0, shape.window).contiguous();
    const at::Tensor targets = text.narrow(1, 1, shape.window).contiguous();
    for (auto& variant : variants) {
      variant.step(tokens, targets);
      // Reading a number waits for the device.
      const double seconds =
          seconds_of([&] { at::matmul(square, square).flatten()[0].item<float>(); });
      peak_flops = std::max(peak_flops, 2 * std::pow(width, 3) / seconds);
    }
  }
  fmt::print("L{} d{} H{} T{} B{} V{} on {}, {} threads, float peak {:.0f} GFLOP/s\n",
             shape.layers(), shape.channels, shape.heads(), shape.window, shape.batch(),
             shape.vocabulary(), shape.device.str(), at::get_num_threads(), 1e-9 * peak_flops);
  fmt::print("{:<22} {:>9} {:>9} {:>9} {:>7} {:>9} {:>9} {:>8}\n", "", "weights", "ms/step",
             "tokens/s", "speed", "of peak", "peak MiB", "loss");
  for (const auto& variant : variants) variant.report(shape, variants.front().best(), peak_flops);
}

const Program program("model/training", "CHANNELS WINDOW THREADS [ROUNDS [VARIANT [DEVICE]]]",
                      [](const Words& words) {
                        at::set_num_threads(std::stoi(words[2]));
                        const at::Device device = named_device(words.size() > 5 ? words[5] : "cpu");
                        run({std::stoi(words[0]), std::stoi(words[1]), device},
                            words.size() > 3 ? std::stoi(words[3]) : 8,
                            words.size() > 4 ? words[4] : "");
                      });

}  // namespace
}  // namespace tessera::bench::training
