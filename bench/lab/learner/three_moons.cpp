// Training iterations (forward, loss, backward, AdamW) of the three moons' network at the sizes of
// Zhang et al. 2024, section 5: ours, and the same weights as the plain tensor formula, with a
// matrix of all scores, its mask and its softmax. Both run in this process on the same sequences;
// the first iteration of each is not counted. Time is CPU time of all threads.
//
//   tessera_bench lab/learner/three_moons [BATCH [THREADS [ROUNDS]]]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bench/support/clocks.h"
#include "bench/support/program.h"
#include "lab/learner/moons/complex_mosaic.h"
#include "lab/learner/sequence/task_batch.h"
#include "lab/task/moons/three_moons.h"
#include "lab/task/sequence/draws.h"
#include "tessera/train/checkpoint.h"
#include "tessera/train/optimizer.h"

namespace tessera::bench::three_moons {
namespace {

const task::ThreeMoonsConfig kTask = {.periods = {1, 2, 3}};

/// The network of the same weights, [2 out, 2 in] real numbers each, as the authors compute it.
class PlainMosaic {
 public:
  PlainMosaic(const ComplexMosaic& model, const ComplexMosaicConfig& config) : config_(config) {
    for (const auto& item : model.named_parameters()) {
      const at::Tensor re = item.value().detach().select(-1, 0),
                       im = item.value().detach().select(-1, 1);
      const at::Tensor blocks = at::stack({at::stack({re, -im}, -1), at::stack({im, re}, -1)}, 1);
      weights_.emplace_back(
          item.key(),
          blocks.reshape({2 * re.size(0), 2 * re.size(1)}).clone().requires_grad_(true));
    }
    mask_ = at::full({kTask.steps, kTask.steps}, -1e10).triu(0);
  }
  const NamedTensors& weights() const { return weights_; }

  at::Tensor forward(const at::Tensor& x) const {
    const int64_t B = x.size(0), T = x.size(1);
    const auto heads = [&](const at::Tensor& y) {
      return y.view({B, T, config_.heads, -1}).transpose(1, 2);
    };
    const at::Tensor keys = heads(at::linear(x, projected(weights_[0].second)));
    const at::Tensor values = heads(at::constant_pad_nd(
        at::linear(x.slice(1, 1), projected(weights_[1].second)), {0, 0, 0, 1}));
    const at::Tensor scores = at::matmul(keys, keys.transpose(2, 3)) + mask_;
    const at::Tensor seen = at::arange(T).gt(0).to(at::kFloat).unsqueeze(1);
    const at::Tensor weights = (scores * config_.beta).softmax(-1) * seen;
    return at::linear(at::matmul(weights, values).transpose(1, 2).reshape({B, T, -1}),
                      projected(weights_[2].second));
  }

 private:
  /// Onto blocks ((re, -im), (im, re)).
  static at::Tensor projected(const at::Tensor& weight) {
    const at::Tensor blocks =
        weight.view({weight.size(0) / 2, 2, weight.size(1) / 2, 2}).permute({0, 2, 1, 3});
    const auto at_place = [&](int64_t row, int64_t column) {
      return blocks.select(2, row).select(2, column);
    };
    const at::Tensor re = (at_place(0, 0) + at_place(1, 1)) / 2,
                     im = (at_place(1, 0) - at_place(0, 1)) / 2;
    return at::stack({at::stack({re, -im}, -1), at::stack({im, re}, -1)}, 1)
        .reshape(weight.sizes());
  }

  ComplexMosaicConfig config_;
  NamedTensors weights_;  // key, value, output
  at::Tensor mask_;
};

/// Least CPU seconds of an iteration, and the loss after all of them.
struct Measured {
  double seconds = std::numeric_limits<double>::infinity();
  double loss = 0;
};

template <typename Forward>
Measured measure(const NamedTensors& weights, const task::TaskBatch& batch, int64_t rounds,
                 const Forward& forward) {
  AdamW optimizer(weights, {.weight_decay = 0, .beta2 = 0.999, .bias_correction = false});
  const at::Tensor x = batch.inputs.transpose(0, 1).contiguous(),
                   next = batch.targets.transpose(0, 1).contiguous();
  Measured measured;
  for (int64_t round = 0; round <= rounds; ++round) {
    const double start = bench::cpu_seconds();
    optimizer.clear_gradients();
    const at::Tensor loss = (forward(x) - next).clamp(-kTask.clip, kTask.clip).square().mean();
    loss.backward();
    optimizer.step(1e-2);
    measured.loss = loss.item<double>();
    if (round > 0) measured.seconds = std::min(measured.seconds, bench::cpu_seconds() - start);
  }
  return measured;
}

void run(int64_t heads, int64_t batch, int64_t rounds) {
  const ComplexMosaicConfig config{.heads = heads};
  const task::TaskBatch observations =
      task::make_batch(task::ThreeMoons(kTask), 3, task::fresh_samples(0, batch));
  ComplexMosaic model(config, 1);
  const PlainMosaic plain(model, config);
  const Measured theirs = measure(plain.weights(), observations, rounds,
                                  [&](const at::Tensor& x) { return plain.forward(x); });
  const Measured ours = measure(trainable_parameters(model), observations, rounds,
                                [&](const at::Tensor& x) { return model.forward(x); });
  fmt::print("{} head{}  plain {:7.4f} s  ours {:7.4f} s  ratio {:5.1f}  loss {:.5f} and {:.5f}\n",
             heads, heads == 1 ? " " : "s", theirs.seconds, ours.seconds,
             theirs.seconds / ours.seconds, theirs.loss, ours.loss);
}

const Program program("lab/learner/three_moons", "[BATCH [THREADS [ROUNDS]]]",
                      [](const Words& words) {
                        const int64_t batch = !words.empty() ? std::stoll(words[0]) : 64;
                        at::set_num_threads(words.size() > 1 ? std::stoi(words[1]) : 1);
                        const int64_t rounds = words.size() > 2 ? std::stoll(words[2]) : 3;
                        fmt::print(
                            "CPU seconds of a training iteration, {} sequences of {} steps\n",
                            batch, kTask.steps);
                        for (const int64_t heads : {1, 3}) run(heads, batch, rounds);
                      });

}  // namespace
}  // namespace tessera::bench::three_moons
