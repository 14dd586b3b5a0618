// Training iterations (forward, backward, AdamW) of the two-memory model at the sizes of Le et al.
// 2020: ours, and the same weights as plain tensor formulas, which form every outer product of
// queries, keys and values. Both run in this process on the same inputs; the first iteration of
// ours is not counted. Time is CPU time of all threads, which other work on the machine disturbs
// least. The share of the peak is what the products that the model needs (three times those of its
// forward pass, nothing recomputed) make of the fastest float product of 2048 x 2048 matrices seen
// meanwhile.
//
//   tessera_bench model/stm_training BATCH THREADS [ROUNDS]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "bench/model/plain_stm.h"
#include "bench/support/clocks.h"
#include "bench/support/program.h"
#include "tessera/train/checkpoint.h"
#include "tessera/train/optimizer.h"

namespace tessera::bench::stm_training {
namespace {

struct Task {
  const char* name;
  int64_t steps, outputs;  ///< outputs are the last steps
  int64_t in, out;
};

constexpr Task kTasks[] = {{"priority sort", 36, 16, 34, 32},
                           {"N-th farthest", 8, 1, 40, 8},
                           {"copy of 10", 22, 10, 34, 32}};

struct Seconds {
  double cpu = std::numeric_limits<double>::infinity();
  double wall = std::numeric_limits<double>::infinity();

  void keep_least(const std::function<void()>& work) {
    const double start = bench::cpu_seconds();
    wall = std::min(wall, bench::seconds_of(work));
    cpu = std::min(cpu, bench::cpu_seconds() - start);
  }
};

/// Products of one iteration, in floating-point operations.
double model_flops(const Task& task, const StmConfig& config, int64_t batch) {
  const double N = static_cast<double>(config.slots), D = static_cast<double>(config.width);
  const double gates = 2 * D * D * D, projection = 3 * N * D * D, associations = N * N * D * D;
  const double transfer = N * N * D * D + N * D * D, read = N * D * D;
  const double distillation = N * D * D * static_cast<double>(config.distilled);
  const double steps = static_cast<double>(task.steps), outputs = static_cast<double>(task.outputs);
  return 6.0 * static_cast<double>(batch) *
         (steps * (gates + projection + associations + transfer + read) + outputs * distillation);
}

struct Measured {
  Seconds seconds;
  double loss = 0;
};

class Bench {
 public:
  Bench(const Task& task, int64_t batch) : task_(task), model_(config_of(task), 1) {
    at::manual_seed(3);
    x_ = at::randn({batch, task.steps, task.in});
    targets_ = at::rand({batch, task.outputs, task.out}).round();
    optimizer_ = std::make_unique<AdamW>(trainable_parameters(model_), AdamWConfig());
  }

  static StmConfig config_of(const Task& task) {
    StmConfig config;
    config.inputs = task.in;
    config.outputs = task.out;
    return config;
  }

  void ours(Measured& measured) {
    iterate(measured, [&] { return model_.forward(x_, {}, task_.steps - task_.outputs); });
  }
  void plain(Measured& measured) {
    iterate(measured, [&] {
      const at::Tensor outputs = bench::PlainStm(model_).forward(x_).outputs;
      return outputs.narrow(1, task_.steps - task_.outputs, task_.outputs);
    });
  }

 private:
  void iterate(Measured& measured, const std::function<at::Tensor()>& outputs) {
    measured.seconds.keep_least([&] {
      optimizer_->clear_gradients();
      const at::Tensor loss = at::binary_cross_entropy_with_logits(outputs(), targets_);
      loss.backward();
      // A rate of zero: both variants go on from the same weights.
      optimizer_->step(0, clip_scale(optimizer_->gradient_norm(), 1.0));
      measured.loss = loss.item<double>();
    });
  }

  Task task_;
  Stm model_;
  at::Tensor x_, targets_;
  std::unique_ptr<AdamW> optimizer_;
};

double matrix_peak() {
  const at::Tensor square = at::randn({2048, 2048});
  Seconds seconds;
  for (int repeat = 0; repeat < 3; ++repeat)
    seconds.keep_least([&] { at::matmul(square, square); });
  return 2 * std::pow(2048.0, 3) / seconds.cpu;
}

void run(const Task& task, int64_t batch, int rounds) {
  Bench bench(task, batch);
  Measured ours, plain, ignored;
  bench.ours(ignored);
  double peak = 0;
  for (int round = 0; round < rounds; ++round) {
    bench.ours(ours);
    bench.plain(plain);
    bench.ours(ours);
    peak = std::max(peak, matrix_peak());
  }
  const double flops = model_flops(task, Bench::config_of(task), batch);
  const auto row = [&](const char* name, const Measured& of) {
    fmt::print("{:<14} {:<6} {:>8.2f} {:>8.2f} {:>7.2f} {:>8.0f}% {:>10.6f}\n", task.name, name,
               of.seconds.cpu, of.seconds.wall, plain.seconds.cpu / of.seconds.cpu,
               100 * flops / of.seconds.cpu / peak, of.loss);
  };
  row("ours", ours);
  row("plain", plain);
}

const Program program("model/stm_training", "BATCH THREADS [ROUNDS]", [](const Words& words) {
  at::set_num_threads(std::stoi(words[1]));
  fmt::print("{:<14} {:<6} {:>8} {:>8} {:>7} {:>9} {:>10}\n", "", "", "CPU s", "wall s", "speed",
             "of peak", "loss");
  for (const auto& task : kTasks)
    run(task, std::stoi(words[0]), words.size() > 2 ? std::stoi(words[2]) : 1);
});

}  // namespace
}  // namespace tessera::bench::stm_training
