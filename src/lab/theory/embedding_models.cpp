#include "lab/theory/embedding_models.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "lab/theory/associative_model.h"
#include "lab/theory/dense_products.h"
#include "tessera/base/error.h"
#include "tessera/plan/blas.h"
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

}  // namespace

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
