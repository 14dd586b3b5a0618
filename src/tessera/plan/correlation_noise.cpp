#include "tessera/plan/correlation_noise.h"

#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/statistics.h"

namespace tessera::theory {
namespace {

void check(const CorrelationCode& code, double energy) {
  check_argument(code.rows > 0 && code.columns > 0 && code.vocabulary > 0 && code.layers > 0,
                 "CorrelationCode: {} rows, {} columns, {} tokens and {} layers; all of them must "
                 "be positive",
                 code.rows, code.columns, code.vocabulary, code.layers);
  check_argument(code.key_variance > 0, "CorrelationCode: a key variance of {}; it is positive",
                 code.key_variance);
  check_argument(energy >= 0, "correlation memory: an energy of {}; it cannot be negative", energy);
}

}  // namespace

double shared_gaussian_key_variance(int32_t heads) {
  check_argument(heads > 0, "shared_gaussian_key_variance: {} heads", heads);
  return 1 + 1.0 / heads;
}

double correlation_noise(const CorrelationCode& code, double energy) {
  check(code, energy);
  const double rows = code.rows, columns = code.columns;
  // The pairs that hold the wrong token itself, one in V, pass their key noise on undiluted.
  const double same_token = code.values_bound ? 0 : columns / code.vocabulary;
  return std::sqrt(code.layers * energy * code.key_variance * (1 + same_token) / (rows * columns));
}

double correlation_recall(const CorrelationCode& code, double energy) {
  constexpr int kNoises = 400;
  constexpr double kWidest = 6;
  const double noise = correlation_noise(code, energy), signal = code.layers;
  const double rows = code.rows, columns = code.columns;
  // The length of the keys scales signal and noise alike: of their 2/K a quarter is left.
  const double lengths = code.lengths_vary ? 2 / columns + 1 / (2 * code.layers * rows) : 0;
  const double right = std::sqrt(noise * noise + signal * signal * lengths);
  const double others = code.vocabulary - 1;
  double recall = 0, weights = 0;
  for (int i = 0; i <= kNoises; ++i) {
    const double g = kWidest * (2.0 * i / kNoises - 1), weight = std::exp(-g * g / 2);
    const double score = signal + g * right;
    // Values are not quite orthogonal: what is read along the right one leaks into the others.
    const double wrong = std::sqrt(noise * noise + score * score / columns);
    recall += weight * std::exp(others * log_normal_cdf(score / wrong));
    weights += weight;
  }
  return recall / weights;
}

double correlation_capacity(const CorrelationCode& code, double recall) {
  check_argument(recall > 1.0 / code.vocabulary && recall < 1,
                 "correlation_capacity: a recall of {} among {} tokens; it lies between chance and "
                 "1",
                 recall, code.vocabulary);
  double low = 0, high = 1;
  while (correlation_recall(code, high) >= recall) high *= 2;
  while (high - low > 1e-6 * high) {
    const double middle = (low + high) / 2;
    (correlation_recall(code, middle) >= recall ? low : high) = middle;
  }
  return low;
}

}  // namespace tessera::theory
