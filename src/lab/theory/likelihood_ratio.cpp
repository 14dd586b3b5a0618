#include "lab/theory/likelihood_ratio.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lab/theory/dense_products.h"
#include "tessera/base/error.h"

namespace tessera::theory {

std::vector<double> class_noise(std::span<const float> memory,
                                std::span<const float> output_embeddings, int64_t dimension) {
  check_argument(dimension >= 1 && memory.size() == static_cast<size_t>(dimension * dimension) &&
                     output_embeddings.size() % dimension == 0 && !output_embeddings.empty(),
                 "class_noise: {} entries of W and {} of U do not fit d = {}", memory.size(),
                 output_embeddings.size(), dimension);
  const int64_t outputs = std::ssize(output_embeddings) / dimension;
  const auto read =  // U W, row y is W^T u_y
      product(outputs, dimension, dimension, output_embeddings.data(), memory.data());
  std::vector<double> noise;
  for (auto line = read.begin(); line != read.end(); line += dimension)
    noise.push_back(std::inner_product(line, line + dimension, line, 0.0) /
                    static_cast<double>(dimension));
  return noise;
}

int32_t likelihood_ratio_answer(std::span<const float> scores, std::span<const double> class_noise,
                                std::span<const double> prior) {
  check_argument(scores.size() == class_noise.size() && scores.size() == prior.size(),
                 "likelihood_ratio_answer: {} scores, {} noises, {} priors", scores.size(),
                 class_noise.size(), prior.size());
  int32_t answer = -1;
  double best = -std::numeric_limits<double>::infinity();
  for (size_t y = 0; y < scores.size(); ++y) {
    if (prior[y] <= 0) continue;
    const double noise = std::max(class_noise[y], 1e-12);
    const double ratio = (scores[y] - 0.5) / noise + std::log(prior[y]);
    if (answer < 0 || ratio > best) {
      best = ratio;
      answer = static_cast<int32_t>(y);
    }
  }
  check_argument(answer >= 0, "likelihood_ratio_answer: none of {} outputs has a prior",
                 scores.size());
  return answer;
}

}  // namespace tessera::theory
