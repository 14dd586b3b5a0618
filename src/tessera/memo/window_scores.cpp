#include "tessera/memo/window_scores.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/memo/detail/log_sum.h"

namespace tessera::memo {
namespace {

constexpr double kNegligible = 30;  // nats below the largest

/// The sums [V] over the windows.
std::vector<float> sums_of(const WindowScores& scores) {
  std::vector<float> sums(static_cast<size_t>(scores.vocabulary()), 0.0f);
  for (int64_t k = 0; k < scores.windows(); ++k) {
    const float* window = scores.window(k).data();
    for (size_t y = 0; y < sums.size(); ++y) sums[y] += window[y];
  }
  return sums;
}

}  // namespace

NextToken by_sum(std::span<const float> sums, std::span<const int64_t> lengths, double noise) {
  const auto V = static_cast<double>(sums.size()), k = static_cast<double>(lengths.size());
  float best = sums[0];
#pragma omp simd reduction(max : best)
  for (size_t y = 0; y < sums.size(); ++y) best = std::max(best, sums[y]);
  NextToken next;
  next.token = static_cast<int32_t>(std::ranges::find(sums, best) - sums.begin());
  next.score = best;
  next.recalled = next.score > noise * std::sqrt(2 * k * std::log(V));
  if (next.recalled) next.matched_length = lengths.back();
  next.evidence = kLogZero;
  next.probability = 1 / V;
  if (noise == 0 || k == 0) return next;
  const double variance = noise * noise, ratio = (next.score - k / 2) / variance;
  double total = 0;  // of all tokens' likelihoods, that of the best being 1
  const auto least = static_cast<float>(next.score - kNegligible * variance);
  for (const float sum : sums)
    if (sum > least) total += std::exp((sum - next.score) / variance);
  next.evidence = ratio + std::log(total / V);
  next.probability = std::exp(log_one_plus_exp(ratio) - log_one_plus_exp(next.evidence)) / V;
  return next;
}

NextToken by_score(const WindowScores& scores, double noise) {
  NextToken next = by_sum(sums_of(scores), scores.lengths(), noise);
  next.window_scores = scores.of_token(next.token);
  return next;
}

}  // namespace tessera::memo
