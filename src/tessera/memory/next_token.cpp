#include "tessera/memory/next_token.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "tessera/base/error.h"

namespace tessera {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr double kNegligible = 30;      // nats below the largest
constexpr double kNoiseOfOne = 4;       // standard deviations that a score of 1 may be above it
constexpr double kAllWindows = 0.9999;  // prior of the hypothesis that all k windows were stored

/// Log of the prior of the hypotheses that the j + 1 shortest of k windows were stored.
double log_share_of(int64_t j, int64_t k) {
  if (k == 1) return 0;
  return std::log(j + 1 == k ? kAllWindows : (1 - kAllWindows) / static_cast<double>(k - 1));
}

/// One token's scores, shortest window first.
std::vector<float> scores_of(const WindowScores& scores, size_t token) {
  std::vector<float> result;
  for (int64_t k = 0; k < scores.windows(); ++k) result.push_back(scores.window(k)[token]);
  return result;
}

/// The sums [V] over the windows.
std::vector<float> sums_of(const WindowScores& scores) {
  std::vector<float> sums(static_cast<size_t>(scores.vocabulary()), 0.0f);
  for (int64_t k = 0; k < scores.windows(); ++k) {
    const float* window = scores.window(k).data();
    for (size_t y = 0; y < sums.size(); ++y) sums[y] += window[y];
  }
  return sums;
}

/// log(1 + e^x).
double log_one_plus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
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
  next.evidence = kNever;
  next.probability = 1 / V;
  if (noise == 0 || k == 0) return next;
  const double variance = noise * noise, ratio = (next.score - k / 2) / variance;
  double others = 0;  // likelihoods against the best's, its own among them
  const auto least = static_cast<float>(next.score - kNegligible * variance);
  for (const float sum : sums)
    if (sum > least) others += std::exp((sum - next.score) / variance);
  next.evidence = ratio + std::log(others / V);
  next.probability = std::exp(log_one_plus(ratio) - log_one_plus(next.evidence)) / V;
  return next;
}

NextToken by_score(const WindowScores& scores, double noise) {
  NextToken next = by_sum(sums_of(scores), scores.lengths(), noise);
  next.window_scores = scores_of(scores, static_cast<size_t>(next.token));
  return next;
}

LikelihoodDecoder::LikelihoodDecoder(std::vector<double> prior, double noise, double error_rate)
    : prior_(std::move(prior)), noise_(noise), error_rate_(error_rate) {
  check_argument(noise >= 0 && std::isfinite(noise),
                 "likelihood decoder: noise is {}, expected >= 0", noise);
  check_argument(error_rate > 0 && error_rate < 1,
                 "likelihood decoder: error rate is {}, expected between 0 and 1", error_rate);
  double total = 0;
  for (const double weight : prior_) {
    check_argument(weight > 0 && std::isfinite(weight),
                   "likelihood decoder: a prior weight is {}, expected above 0", weight);
    total += weight;
  }
  for (double& weight : prior_) {
    weight /= total;
    log_prior_.push_back(std::log(weight));
  }
}

/// What one window says for a token, in nats. A score far above 1 says that it was stored more than
/// once, which must not outvote a longer window.
double LikelihoodDecoder::vote(float score) const {
  return (std::min<double>(score, 1 + kNoiseOfOne * noise_) - 0.5) / (noise_ * noise_);
}

LikelihoodDecoder::Posterior LikelihoodDecoder::posterior(const WindowScores& scores) const {
  const size_t V = prior_.size();
  const int64_t k = scores.windows();
  check_argument(static_cast<int64_t>(V) == scores.vocabulary(),
                 "likelihood decoder: scores of {} tokens meet a prior of {}", scores.vocabulary(),
                 V);
  if (noise_ == 0 || k == 0) return {prior_, 1, kNever};
  std::vector<double> ratios = log_prior_;  // + llr(y, j), window by window
  std::vector<double> largest(V, kNever);   // of all j so far, with their prior
  for (int64_t j = 0; j < k; ++j) {
    const float* window = scores.window(j).data();
    const double log_share = log_share_of(j, k);
    for (size_t y = 0; y < V; ++y) {
      ratios[y] += vote(window[y]);
      largest[y] = std::max(largest[y], ratios[y] + log_share);
    }
  }
  // All weights are divided by e^top, with "nothing was stored" among them at 1.
  const double top = std::max(0.0, *std::ranges::max_element(largest));
  Posterior result{std::vector<double>(V), 0, 0};
  double mixture = 0;
  const double nothing = std::exp(-top);
  for (size_t y = 0; y < V; ++y) {
    double share = 0;
    if (largest[y] > top - kNegligible) {
      double ratio = log_prior_[y];
      for (int64_t j = 0; j < k; ++j)
        share += std::exp((ratio += vote(scores.window(j)[y])) + log_share_of(j, k) - top);
    }
    mixture += share;
    result.tokens[y] = share + prior_[y] * nothing;
  }
  result.total = mixture + nothing;
  result.log_mixture = std::log(mixture) + top;
  return result;
}

/// How many of the shortest windows the token was most likely stored with; at least one.
size_t LikelihoodDecoder::voting_windows(std::span<const float> window_scores) const {
  const auto k = static_cast<int64_t>(window_scores.size());
  size_t best = 0;
  double ratio = 0, largest = kNever;
  for (int64_t j = 0; j < k; ++j) {
    ratio += vote(window_scores[static_cast<size_t>(j)]);
    if (ratio + log_share_of(j, k) <= largest) continue;
    largest = ratio + log_share_of(j, k);
    best = static_cast<size_t>(j) + 1;
  }
  return best;
}

NextToken LikelihoodDecoder::best(const WindowScores& scores) const {
  const Posterior all = posterior(scores);
  const auto best = std::ranges::max_element(all.tokens);
  NextToken next;
  next.token = static_cast<int32_t>(best - all.tokens.begin());
  next.window_scores = scores_of(scores, static_cast<size_t>(next.token));
  next.evidence = all.log_mixture;
  next.probability = *best / all.total;
  next.recalled = next.evidence > -std::log(error_rate_);
  if (next.evidence == kNever) return next;
  const size_t windows = voting_windows(next.window_scores);
  for (size_t j = 0; j < windows; ++j) next.score += next.window_scores[j];
  if (next.evidence > 0) next.matched_length = scores.lengths()[windows - 1];
  return next;
}

std::vector<double> LikelihoodDecoder::probabilities(const WindowScores& scores) const {
  Posterior all = posterior(scores);
  for (double& weight : all.tokens) weight /= all.total;
  return std::move(all.tokens);
}

}  // namespace tessera
