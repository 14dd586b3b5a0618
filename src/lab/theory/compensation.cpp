#include "lab/theory/compensation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lab/theory/dense_products.h"
#include "tessera/base/error.h"
#include "tessera/plan/gaussian_field.h"
#include "tessera/plan/population_error.h"

namespace tessera::theory {
namespace {

/// Rows of d numbers at unit length.
void to_unit_length(std::vector<double>& rows, int64_t d) {
  for (auto row = rows.begin(); row != rows.end(); row += d) {
    const double length = std::sqrt(std::inner_product(row, row + d, row, 0.0));
    std::for_each(row, row + d, [&](double& value) { value /= length; });
  }
}

/// <a_i, b_j> of rows of d numbers. [rows of a, rows of b]
std::vector<double> products(std::span<const double> a, std::span<const double> b, int64_t d) {
  std::vector<double> result;
  for (auto i = a.begin(); i != a.end(); i += d)
    for (auto j = b.begin(); j != b.end(); j += d)
      result.push_back(std::inner_product(i, i + d, j, 0.0));
  return result;
}

double best_sharpness(const AssociationTask& task, std::span<const double> found,
                      std::span<const double> outputs, int64_t d) {
  double best = 0, least = INFINITY;
  for (double sharpness = 0x1p-4; sharpness <= 0x1p10; sharpness *= 2)
    if (const double nats = output_loss(task, found, outputs, d, sharpness).nats; nats < least) {
      least = nats;
      best = sharpness;
    }
  return best;
}

}  // namespace

std::vector<double> found_outputs(const AssociationTask& task, std::span<const float> weights,
                                  int64_t dimension, uint64_t seed) {
  const int64_t N = task.inputs(), M = task.outputs, d = dimension;
  check_argument(std::ssize(weights) == N, "found_outputs: {} weights for {} inputs",
                 weights.size(), N);
  check_argument(d >= 1, "found_outputs: dimension {}; at least 1 is needed", d);
  const std::vector<float> drawn = gaussian_rows(N, d, seed, kInputStream);
  const std::vector<double> e(drawn.begin(), drawn.end());
  std::vector<double> sums(M * d);  // of q(x) e_x / d, by output
  for (int64_t x = 0; x < N; ++x)
    for (int64_t j = 0; j < d; ++j)
      sums[task.output[x] * d + j] += weights[x] * e[x * d + j] / static_cast<double>(d);
  return products(e, sums, d);
}

std::vector<double> compensated_scores(std::span<const double> found,
                                       std::span<const double> outputs, int64_t dimension) {
  const int64_t M = std::ssize(outputs) / dimension;
  return products(found, products(outputs, outputs, dimension), M);
}

std::vector<double> simplex_outputs(int64_t count, int64_t dimension) {
  check_argument(count >= 2 && dimension >= count - 1,
                 "simplex_outputs: {} outputs have no equal angles in {} dimensions", count,
                 dimension);
  // Corner k of a simplex of k + 1 corners lies above the middle of the others.
  std::vector<double> u(count * dimension);
  for (int64_t axis = 0; axis < count - 1; ++axis) {
    const double others = count - 1 - axis;  // corners after this one
    double left = 1;
    for (int64_t j = 0; j < axis; ++j) left -= u[axis * dimension + j] * u[axis * dimension + j];
    u[axis * dimension + axis] = std::sqrt(left);
    for (int64_t corner = axis + 1; corner < count; ++corner)
      u[corner * dimension + axis] = -std::sqrt(left) / others;
  }
  return u;
}

OutputLoss output_loss(const AssociationTask& task, std::span<const double> found,
                       std::span<const double> outputs, int64_t dimension, double sharpness) {
  const int64_t N = task.inputs(), M = task.outputs, d = dimension;
  std::vector<double> scores = compensated_scores(found, outputs, d);
  OutputLoss loss{0, std::vector<double>(outputs.size())};
  std::vector<double> by_product(M * M);  // derivative by <u_y', u_y>
  for (int64_t x = 0; x < N; ++x) {
    const auto gradient = std::span(scores).subspan(x * M, M);
    for (double& score : gradient) score *= sharpness;
    loss.nats += task.law[x] * softmax_residual(gradient, task.output[x], sharpness);
    for (int64_t k = 0; k < M; ++k)
      for (int64_t y = 0; y < M; ++y)
        by_product[k * M + y] += task.law[x] * found[x * M + k] * gradient[y];
  }
  for (int64_t k = 0; k < M; ++k)
    for (int64_t y = 0; y < M; ++y)
      for (int64_t j = 0; j < d; ++j)
        loss.gradient[k * d + j] +=
            (by_product[k * M + y] + by_product[y * M + k]) * outputs[y * d + j];
  return loss;
}

std::vector<double> compensating_outputs(const AssociationTask& task, std::span<const double> found,
                                         std::vector<double> start, int64_t dimension,
                                         int64_t steps) {
  constexpr int64_t kStepsOfASharpness = 50;
  std::vector<double> u = std::move(start);
  double sharpness = 0, rate = 1;
  OutputLoss loss;
  for (int64_t step = 0; step < steps; ++step) {
    if (step % kStepsOfASharpness == 0) {
      sharpness = best_sharpness(task, found, u, dimension);
      loss = output_loss(task, found, u, dimension, sharpness);
    }
    std::vector<double> next = u;
    for (size_t i = 0; i < u.size(); ++i) next[i] -= rate * loss.gradient[i];
    to_unit_length(next, dimension);
    OutputLoss there = output_loss(task, found, next, dimension, sharpness);
    if (there.nats < loss.nats) {
      u = std::move(next);
      loss = std::move(there);
      rate *= 1.2;
    } else {
      rate /= 2;
    }
  }
  return u;
}

}  // namespace tessera::theory
