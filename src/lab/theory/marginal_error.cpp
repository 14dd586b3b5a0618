#include "lab/theory/marginal_error.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "lab/theory/associative_model.h"
#include "tessera/base/error.h"
#include "tessera/base/statistics.h"
#include "tessera/plan/blas.h"
#include "tessera/plan/gaussian_field.h"
#include "tessera/plan/parallel.h"
#include "tessera/plan/population_error.h"

namespace tessera::theory {

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

}  // namespace tessera::theory
