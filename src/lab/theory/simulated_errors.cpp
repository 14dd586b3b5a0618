#include "lab/theory/simulated_errors.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "lab/theory/associative_model.h"
#include "lab/theory/dense_products.h"
#include "tessera/base/error.h"
#include "tessera/base/statistics.h"
#include "tessera/plan/blas.h"
#include "tessera/plan/gaussian_field.h"
#include "tessera/plan/parallel.h"
#include "tessera/plan/population_error.h"

namespace tessera::theory {
namespace {

constexpr uint64_t kOutputSalt = 0x9E3779B97F4A7C15;  // the u must not be the e of the same seed

/// The mass of each output, from the most to the least frequent one. [M]
std::vector<double> output_masses(const AssociationTask& task) {
  std::vector<double> mass(task.outputs, 0.0);
  for (int64_t x = 0; x < task.inputs(); ++x) mass[task.output[x]] += task.law[x];
  std::ranges::sort(mass, std::greater<>());
  return mass;
}

/// Answers [M, M] of what is stored for output z (row) to u_y (column).
std::vector<float> answers_of(OutputWeights weights, int64_t outputs, int64_t d, uint64_t seed) {
  const size_t M = outputs;
  std::vector<float> answers(M * M, 0.0f);
  if (weights == OutputWeights::kDual) {
    for (size_t y = 0; y < M; ++y) answers[y * M + y] = 1;
    return answers;
  }
  answers = gram_matrix(random_directions(outputs, d, seed, kOutputStream), outputs, d);
  if (weights != OutputWeights::kCentred) return answers;
  for (size_t y = 0; y < M; ++y) {
    double mean = 0;
    for (size_t z = 0; z < M; ++z) mean += answers[z * M + y] / static_cast<double>(M);
    for (size_t z = 0; z < M; ++z) answers[z * M + y] -= static_cast<float>(mean);
  }
  return answers;
}

}  // namespace

double marginal_error(const AssociationTask& task, std::span<const float> weights,
                      int64_t dimension, uint64_t seed) {
  check_argument(dimension >= 1, "marginal_error: dimension {}; at least 1 is needed", dimension);
  constexpr int64_t kRows = 1024;
  const auto energies = class_energies(task, weights);
  const int64_t M = task.outputs;
  const double d = dimension;
  const auto u = random_directions(M, dimension, seed ^ 0x5851F42D4C957F2D);
  const SerialBlas serial_blas;
  const std::vector<float> gram = gram_matrix(u, M, dimension);
  std::vector<double> errors((task.inputs() + kRows - 1) / kRows, 0.0);
  parallel_for(std::ssize(errors), [&](int64_t block) {
    const int64_t first = block * kRows, rows = std::min(kRows, task.inputs() - first);
    // Column 0 draws |e_x|^2, the others the noise on the M coefficients.
    std::vector<float> noise(rows * (M + 1)), scores(rows * M);
    GaussianField(seed).fill(first, rows, 0, M + 1, noise.data(), M + 1);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t x = first + row;
      float* line = noise.data() + row * (M + 1);
      const double a = squared_length(d, line[0]), q = weights[x];
      for (int64_t y = 0; y < M; ++y) {
        const double energy = energies[y] - (y == task.output[x] ? q * q : 0.0);
        line[y + 1] *= static_cast<float>(std::sqrt(a * std::max(0.0, energy) / d));
      }
      line[task.output[x] + 1] += static_cast<float>(q * a);
    }
    multiply(rows, M, M, noise.data() + 1, M + 1, gram.data(), M, 0.0f, scores.data(), M);
    for (int64_t row = 0; row < rows; ++row) {
      const float* line = scores.data() + row * M;
      if (std::max_element(line, line + M) - line != task.output[first + row])
        errors[block] += task.law[first + row];
    }
  });
  return std::accumulate(errors.begin(), errors.end(), 0.0);
}

std::vector<float> capped_weights(const AssociationTask& task, int64_t most) {
  std::vector<int64_t> stored(task.outputs, 0);
  std::vector<float> weights;
  for (const int32_t y : task.output) weights.push_back(stored[y]++ < most ? 1.0f : 0.0f);
  return weights;
}

double general_weights_error(const AssociationTask& task, OutputWeights weights, int64_t dimension,
                             uint64_t seed) {
  check_argument(dimension >= 1, "general_weights_error: dimension {}; at least 1 is needed",
                 dimension);
  check_argument(weights != OutputWeights::kDual || task.outputs <= dimension,
                 "general_weights_error: {} outputs have no dual vectors in {} dimensions",
                 task.outputs, dimension);
  const SerialBlas serial_blas;
  const int64_t N = task.inputs(), M = task.outputs, d = dimension;
  const std::vector<float> e = gaussian_rows(N, d, seed, kInputStream);
  std::vector<float> sums(M * d, 0.0f);
  for (int64_t x = 0; x < N; ++x)
    for (int64_t j = 0; j < d; ++j) sums[task.output[x] * d + j] += e[x * d + j];
  const auto reads = product_with_transposed(N, M, d, e.data(), sums.data());
  const std::vector<float> answers = answers_of(weights, M, d, seed);
  return population_error_of_scores(task, product(N, M, M, reads.data(), answers.data()));
}

double quasi_orthogonal_count(int64_t dimension, double eta) {
  return std::exp(static_cast<double>(dimension) * eta * eta / 4);
}

double rectified_lookup_error(const AssociationTask& task, int64_t stored, int64_t dimension,
                              double eta, uint64_t seed) {
  check_argument(stored >= 1 && stored <= task.inputs(),
                 "rectified_lookup_error: {} associations to store out of {} inputs", stored,
                 task.inputs());
  const auto e = random_directions(task.inputs(), dimension, seed);
  const auto u = random_directions(task.outputs, dimension, seed ^ kOutputSalt);
  const SerialBlas serial_blas;
  const auto similarity =
      product_with_transposed(task.inputs(), stored, dimension, e.data(), e.data());
  // [N, M]: the rectified similarities summed by output, then read through the Gram matrix of u.
  std::vector<float> by_output(static_cast<size_t>(task.inputs()) * task.outputs, 0.0f);
  for (int64_t x = 0; x < task.inputs(); ++x)
    for (int64_t z = 0; z < stored; ++z)
      by_output[x * task.outputs + task.output[z]] +=
          std::max(0.0f, similarity[x * stored + z] - static_cast<float>(eta));
  const std::vector<float> gram = gram_matrix(u, task.outputs, dimension);
  return population_error_of_scores(
      task, product(task.inputs(), task.outputs, task.outputs, by_output.data(), gram.data()));
}

double merged_embeddings_error(const AssociationTask& task, int32_t stored_outputs,
                               int64_t dimension, uint64_t seed) {
  check_argument(stored_outputs >= 0 && stored_outputs <= task.outputs,
                 "merged_embeddings_error: {} outputs to store out of {}", stored_outputs,
                 task.outputs);
  const auto mass = output_masses(task);
  const auto u = random_directions(stored_outputs, dimension, seed);
  // The inputs of one output share their embedding, so W e_x = sum over y of u_y <u_y, u_f(x)>.
  const int64_t P = stored_outputs;
  const SerialBlas serial_blas;
  const std::vector<float> gram = gram_matrix(u, P, dimension);
  const auto scores = product(P, P, P, gram.data(), gram.data());
  double error = unstored_output_mass(task, stored_outputs);
  for (int64_t k = 0; k < P; ++k) {
    const float* line = scores.data() + k * P;
    if (std::max_element(line, line + P) - line != k) error += mass[k];
  }
  return error;
}

double unstored_output_mass(const AssociationTask& task, int32_t stored_outputs) {
  const auto mass = output_masses(task);
  double rest = 0;
  for (size_t k = mass.size(); k > static_cast<size_t>(std::max(0, stored_outputs)); --k)
    rest += mass[k - 1];
  return rest;
}

}  // namespace tessera::theory
