#include "lab/theory/score_descent.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lab/theory/dense_products.h"
#include "tessera/base/error.h"
#include "tessera/plan/blas.h"
#include "tessera/plan/population_error.h"

namespace tessera::theory {

ScoreDescent::ScoreDescent(const AssociationTask& task, const AssociativeModel<float>& model)
    : task_(task), dimension_(model.dimension), scores_(model_scores(task, model)) {
  const int64_t N = task.inputs(), M = task.outputs, d = dimension_;
  kernel_ = gram_matrix(model.inputs, N, d);
  gram_ = gram_matrix(model.outputs, M, d);
  stored_.assign(scores_.size(), 0.0f);
  residual_.resize(M);
}

void ScoreDescent::residual(int32_t input, float weight, float* out) const {
  const int64_t M = task_.outputs;
  std::copy_n(scores_.begin() + input * M, M, out);
  softmax_residual(std::span(out, M), task_.output[input], -weight);
}

void ScoreDescent::step(int32_t input, double step_size) {
  const int64_t N = task_.inputs(), M = task_.outputs;
  residual(input, static_cast<float>(step_size), residual_.data());
  float* change = stored_.data() + input * M;
  std::vector<float> direction(M, 0.0f);
  for (int64_t z = 0; z < M; ++z)
    for (int64_t y = 0; y < M; ++y) direction[y] += residual_[z] * gram_[z * M + y];
  for (int64_t y = 0; y < M; ++y) change[y] += direction[y];
  const float* kernel = kernel_.data() + input * N;  // K is symmetric
  for (int64_t x = 0; x < N; ++x)
    for (int64_t y = 0; y < M; ++y) scores_[x * M + y] += kernel[x] * direction[y];
}

void ScoreDescent::step(const WeightedBatch& batch, double step_size) {
  const int64_t N = task_.inputs(), M = task_.outputs;
  const auto rows = std::ssize(batch.inputs);
  std::vector<float> residuals(rows * M);
  for (int64_t row = 0; row < rows; ++row)
    residual(batch.inputs[row], static_cast<float>(step_size) * batch.weights[row],
             residuals.data() + row * M);
  const auto directions = product(rows, M, M, residuals.data(), gram_.data());
  std::vector<float> kernel(rows * N);
  for (int64_t row = 0; row < rows; ++row) {
    std::copy_n(kernel_.begin() + batch.inputs[row] * N, N, kernel.begin() + row * N);
    for (int64_t y = 0; y < M; ++y) stored_[batch.inputs[row] * M + y] += directions[row * M + y];
  }
  transposed_multiply(N, M, rows, kernel.data(), N, directions.data(), M, 1.0f, scores_.data(), M);
}

double ScoreDescent::error() const {
  return population_error_of_scores(task_, scores_);
}

double ScoreDescent::confidence(int32_t input) const {
  const int64_t M = task_.outputs;
  const float* line = scores_.data() + input * M;
  double total = 0;
  for (int64_t y = 0; y < M; ++y) total += std::exp(double{line[y] - line[task_.output[input]]});
  return 1 / total;
}

double ScoreDescent::margin(int32_t input) const {
  const int64_t M = task_.outputs;
  const float* line = scores_.data() + input * M;
  const double right = line[task_.output[input]];
  double others = 0;
  for (int64_t y = 0; y < M; ++y) others += line[y];
  return M > 1 ? right - (others - right) / static_cast<double>(M - 1) : right;
}

double ScoreDescent::mean_noise() const {
  double noise = 0;  // |W^T u_y|^2 = R[:, y] . K R[:, y], and S = K R
  for (size_t i = 0; i < scores_.size(); ++i) noise += double{stored_[i]} * scores_[i];
  return noise / static_cast<double>(task_.outputs * dimension_);
}

std::vector<float> approximate_weights(std::span<const int64_t> counts, double step_size,
                                       double rivals) {
  check_argument(rivals > 0, "approximate_weights: {} rivals", rivals);
  // f is applied count times from 0: one walk to the largest count serves all.
  int64_t most = 0;
  for (const int64_t count : counts) {
    check_argument(count >= 0, "approximate_weights: a count of {}", count);
    most = std::max(most, count);
  }
  std::vector<float> walk(most + 1, 0.0f);
  double q = 0;
  for (int64_t n = 1; n <= most; ++n) {
    q += step_size / (1 + std::exp(q) / rivals);
    walk[n] = static_cast<float>(q);
  }
  std::vector<float> weights;
  for (const int64_t count : counts) weights.push_back(walk[count]);
  return weights;
}

void approximate_batch_step(const WeightedBatch& batch, double step_size, double rivals,
                            std::span<float> weights) {
  check_argument(rivals > 0, "approximate_batch_step: {} rivals", rivals);
  for (size_t row = 0; row < batch.inputs.size(); ++row) {
    float& q = weights[batch.inputs[row]];
    q += static_cast<float>(step_size * batch.weights[row] / (1 + std::exp(double{q}) / rivals));
  }
}

double LoadAdaptiveStep::next(const ScoreDescent& descent, int32_t input) {
  constexpr int64_t kWarmUp = 50, kRefresh = 10;
  constexpr double kMemory = 0.02;
  margin_ += (steps_ == 0 ? 1.0 : kMemory) * (descent.margin(input) - margin_);
  if (steps_ % kRefresh == 0) noise_ = descent.mean_noise();
  double load = 0;
  if (++steps_ > kWarmUp)
    load = margin_ > 0 ? 2 * kappa_ * noise_ / (margin_ * margin_)
                       : std::numeric_limits<double>::infinity();
  return least_ + (most_ - least_) / (1 + load * load);
}

}  // namespace tessera::theory
