#include "lab/theory/embedding_models.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lab/theory/associative_model.h"
#include "lab/theory/dense_products.h"
#include "tessera/base/consecutive.h"
#include "tessera/base/error.h"
#include "tessera/plan/gaussian_field.h"
#include "tessera/plan/parallel.h"
#include "tessera/plan/population_error.h"

namespace tessera::theory {
namespace {

constexpr uint64_t kOutputSalt = 0x9E3779B97F4A7C15;  // the u must not be the e of the same seed

/// Outputs from the most to the least frequent, ties by index. [M]
std::vector<int32_t> outputs_by_mass(const AssociationTask& task, std::vector<double>& mass) {
  mass.assign(static_cast<size_t>(task.outputs), 0.0);
  for (int64_t x = 0; x < task.inputs(); ++x) mass[task.output[x]] += task.law[x];
  std::vector<int32_t> order = consecutive<int32_t>(mass.size());
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return mass[a] > mass[b]; });
  return order;
}

}  // namespace

double coherence(std::span<const float> directions, int64_t count, int64_t dimension) {
  check_argument(directions.size() == static_cast<size_t>(count * dimension),
                 "coherence: {} entries for {} vectors in {} dimensions", directions.size(), count,
                 dimension);
  constexpr int64_t kRows = 256;
  std::vector<double> largest(static_cast<size_t>((count + kRows - 1) / kRows), 0.0);
  parallel_for(static_cast<int64_t>(largest.size()), [&](int64_t block) {
    const int64_t first = block * kRows, rows = std::min(kRows, count - first);
    const auto products = product_with_transposed(
        rows, count, dimension, directions.data() + first * dimension, directions.data());
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t z = 0; z < count; ++z)
        if (z != first + row)
          largest[block] = std::max(largest[block], std::abs(double{products[row * count + z]}));
  });
  return largest.empty() ? 0.0 : *std::max_element(largest.begin(), largest.end());
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

double identity_memory_error(const AssociationTask& task, int64_t dimension, uint64_t seed) {
  const auto u = random_directions(task.outputs, dimension, seed);
  std::vector<float> scores(static_cast<size_t>(task.inputs()) * task.outputs);
  for (int64_t x = 0; x < task.inputs(); ++x) {
    const float* e = u.data() + task.output[x] * dimension;
    for (int32_t y = 0; y < task.outputs; ++y)
      scores[x * task.outputs + y] =
          std::inner_product(e, e + dimension, u.data() + y * dimension, 0.0f);
  }
  return population_error_of_scores(task, scores);
}

double merged_embeddings_error(const AssociationTask& task, int32_t stored_outputs,
                               int64_t dimension, uint64_t seed) {
  check_argument(stored_outputs >= 0 && stored_outputs <= task.outputs,
                 "merged_embeddings_error: {} outputs to store out of {}", stored_outputs,
                 task.outputs);
  std::vector<double> mass;
  const auto order = outputs_by_mass(task, mass);
  const auto u = random_directions(stored_outputs, dimension, seed);
  // The inputs of one output share their embedding, so W e_x = sum over y of u_y <u_y, u_f(x)>.
  const int64_t P = stored_outputs;
  const SerialBlas serial_blas;
  const std::vector<float> gram = gram_matrix(u, P, dimension);
  const auto scores = product(P, P, P, gram.data(), gram.data());
  double error = unstored_output_mass(task, stored_outputs);
  for (int64_t k = 0; k < P; ++k) {
    const float* line = scores.data() + k * P;
    if (std::max_element(line, line + P) - line != k) error += mass[order[k]];
  }
  return error;
}

double unstored_output_mass(const AssociationTask& task, int32_t stored_outputs) {
  std::vector<double> mass;
  const auto order = outputs_by_mass(task, mass);
  double rest = 0;
  for (size_t k = order.size(); k > static_cast<size_t>(std::max(0, stored_outputs)); --k)
    rest += mass[order[k - 1]];
  return rest;
}

}  // namespace tessera::theory
