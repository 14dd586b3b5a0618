#include "tessera/memory/next_token.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "tessera/base/error.h"

namespace tessera {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr double kNegligible = 40;  // nats below the largest

/// One token's scores, shortest window first.
std::vector<float> scores_of(const WindowScores& scores, size_t token) {
  std::vector<float> result;
  for (int64_t k = 0; k < scores.windows(); ++k) result.push_back(scores.window(k)[token]);
  return result;
}

constexpr float kOnce = 1;  // the score of what was stored once
constexpr float kAnyOften = std::numeric_limits<float>::infinity();

/// How many of the shortest windows the token was most likely stored with; at least one.
size_t voting_windows(std::span<const float> window_scores) {
  size_t best = 0;
  double ratio = 0, largest = kNever;
  for (size_t k = 0; k < window_scores.size(); ++k) {
    ratio += std::min(kOnce, window_scores[k]) - 0.5;
    if (ratio > largest) {
      largest = ratio;
      best = k + 1;
    }
  }
  return best;
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

/// The posterior of the likeliest token, of sum `best`, among all; variance: that of the noise.
double probability_of(double best, std::span<const float> sums, double windows, double variance) {
  double others = 0;  // likelihoods against the best's, its own among them
  for (const float sum : sums)
    if (const double ratio = (sum - best) / variance; ratio > -kNegligible)
      others += std::exp(ratio);
  // Every token has prior 1 / (2 V), "nothing was stored" 1 / 2; all divided by e^top.
  const double ratio = (best - windows / 2) / variance, top = std::max(0.0, ratio);
  const double stored = std::exp(ratio - top), nothing = std::exp(-top);
  return (stored + nothing) / (others * stored + static_cast<double>(sums.size()) * nothing);
}

}  // namespace

NextToken by_sum(std::span<const float> sums, std::span<const int64_t> lengths, double noise) {
  const auto V = static_cast<double>(sums.size()), k = static_cast<double>(lengths.size());
  const auto best = std::ranges::max_element(sums);
  NextToken next;
  next.token = static_cast<int32_t>(best - sums.begin());
  next.score = *best;
  next.recalled = next.score > noise * std::sqrt(2 * k * std::log(V));
  if (next.recalled) next.matched_length = lengths.back();
  next.probability =
      noise > 0 && k > 0 ? probability_of(next.score, sums, k, noise * noise) : 1 / V;
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

LikelihoodDecoder::Posterior LikelihoodDecoder::posterior(const WindowScores& scores,
                                                          float most) const {
  const size_t V = prior_.size();
  check_argument(static_cast<int64_t>(V) == scores.vocabulary(),
                 "likelihood decoder: scores of {} tokens meet a prior of {}", scores.vocabulary(),
                 V);
  if (noise_ == 0 || scores.windows() == 0) return {prior_, 1, kNever};
  // ratios: log pi_y + llr(y, j), window by window; largest: of all j so far.
  const double log_windows = std::log(static_cast<double>(scores.windows()));
  const double precision = 1 / (noise_ * noise_);
  std::vector<double> ratios = log_prior_, largest(V, kNever);
  for (int64_t k = 0; k < scores.windows(); ++k) {
    const float* window = scores.window(k).data();
    for (size_t y = 0; y < V; ++y) {
      ratios[y] += (std::min(most, window[y]) - 0.5) * precision;
      largest[y] = std::max(largest[y], ratios[y]);
    }
  }
  // All weights are divided by e^top, with "nothing was stored" among them at 1.
  const double top = std::max(0.0, *std::ranges::max_element(largest) - log_windows);
  Posterior result{std::vector<double>(V), 0, 0};
  double mixture = 0;
  const double nothing = std::exp(-top);
  for (size_t y = 0; y < V; ++y) {
    double share = 0;
    if (largest[y] - log_windows > top - kNegligible) {
      double ratio = log_prior_[y] - log_windows;
      for (int64_t k = 0; k < scores.windows(); ++k)
        share +=
            std::exp((ratio += (std::min(most, scores.window(k)[y]) - 0.5) * precision) - top);
    }
    mixture += share;
    result.tokens[y] = share + prior_[y] * nothing;
  }
  result.total = mixture + nothing;
  result.log_mixture = std::log(mixture) + top;
  return result;
}

NextToken LikelihoodDecoder::best(const WindowScores& scores) const {
  const Posterior all = posterior(scores, kOnce);
  const auto best = std::ranges::max_element(all.tokens);
  NextToken next;
  next.token = static_cast<int32_t>(best - all.tokens.begin());
  next.window_scores = scores_of(scores, static_cast<size_t>(next.token));
  const size_t windows = voting_windows(next.window_scores);
  for (size_t k = 0; k < windows; ++k) next.score += next.window_scores[k];
  next.probability = *best / all.total;
  const double enough = -std::log(error_rate_);
  next.recalled = all.log_mixture > enough || posterior(scores, kAnyOften).log_mixture > enough;
  if (next.recalled) next.matched_length = scores.lengths()[windows - 1];
  return next;
}

std::vector<double> LikelihoodDecoder::probabilities(const WindowScores& scores) const {
  Posterior all = posterior(scores, kOnce);
  for (double& weight : all.tokens) weight /= all.total;
  return std::move(all.tokens);
}

}  // namespace tessera
