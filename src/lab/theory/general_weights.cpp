#include "lab/theory/general_weights.h"

#include <vector>

#include "lab/theory/associative_model.h"
#include "lab/theory/dense_products.h"
#include "tessera/base/error.h"
#include "tessera/plan/blas.h"
#include "tessera/plan/gaussian_field.h"
#include "tessera/plan/population_error.h"

namespace tessera::theory {
namespace {

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

}  // namespace tessera::theory
