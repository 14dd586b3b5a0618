#include "tessera/memo/likelihood_decoder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "tessera/base/error.h"

namespace tessera {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr double kNegligible = 30;   // nats below the largest
constexpr double kAllWindows = 0.9;  // prior of a context whose k windows were all stored
constexpr double kRivals = 0.1;      // other tokens expected at each depth below the context's
constexpr double kNotStored = -14;   // log of a likelihood ratio with its prior

/// Log of the prior of depth m, given that something was stored.
double log_prior_of_depth(int64_t m, int64_t k) {
  if (k == 1) return 0;
  return std::log(m == k ? kAllWindows : (1 - kAllWindows) / static_cast<double>(k - 1));
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

/// log(e^a + e^b).
double log_add(double a, double b) {
  return a == kNever ? b : a + log_one_plus(b - a);
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

/// What one window says for a token, in nats.
double LikelihoodDecoder::vote(float score) const {
  return (score - 0.5) / (noise_ * noise_);
}

std::vector<LikelihoodDecoder::Candidate> LikelihoodDecoder::candidates(
    const WindowScores& scores) const {
  std::vector<double> ratios = log_prior_, largest(prior_.size(), kNever);
  for (int64_t j = 0; j < scores.windows(); ++j) {
    const float* window = scores.window(j).data();
    for (size_t y = 0; y < ratios.size(); ++y) {
      ratios[y] += vote(window[y]);
      largest[y] = std::max(largest[y], ratios[y]);
    }
  }
  std::vector<Candidate> found;
  for (size_t y = 0; y < ratios.size(); ++y)
    if (largest[y] > kNotStored)
      found.push_back({static_cast<int32_t>(y), log_prior_[y], 0, kNever, kNever, 0});
  return found;
}

LikelihoodDecoder::Posterior LikelihoodDecoder::posterior(const WindowScores& scores) const {
  const int64_t k = scores.windows();
  check_argument(static_cast<int64_t>(prior_.size()) == scores.vocabulary(),
                 "likelihood decoder: scores of {} tokens meet a prior of {}", scores.vocabulary(),
                 prior_.size());
  Posterior result{{}, kNever};
  if (noise_ == 0) return result;
  result.candidates = candidates(scores);
  double log_rivals = 0;  // log B
  for (int64_t m = 1; m <= k; ++m) {
    const float* window = scores.window(m - 1).data();
    const double log_depth = log_prior_of_depth(m, k) + log_rivals;
    for (Candidate& candidate : result.candidates) {
      candidate.log_ratio += vote(window[candidate.token]);
      const double weight = log_depth + candidate.log_ratio - candidate.log_rival;
      candidate.log_weight = log_add(candidate.log_weight, weight);
      if (weight > candidate.best_weight) {
        candidate.best_weight = weight;
        candidate.depth = m;
      }
      const double log_rival =
          log_add(candidate.log_rival, std::log(kRivals) + candidate.log_ratio);
      log_rivals += log_rival - candidate.log_rival;
      candidate.log_rival = log_rival;
    }
    log_rivals -= kRivals;
  }
  for (const Candidate& candidate : result.candidates)
    result.log_mixture = log_add(result.log_mixture, candidate.log_weight);
  return result;
}

NextToken LikelihoodDecoder::best(const WindowScores& scores) const {
  const Posterior all = posterior(scores);
  NextToken next;
  next.evidence = all.log_mixture;
  next.recalled = next.evidence > -std::log(error_rate_);
  if (all.candidates.empty()) {
    next.token = static_cast<int32_t>(std::ranges::max_element(prior_) - prior_.begin());
    next.window_scores = scores_of(scores, static_cast<size_t>(next.token));
    next.probability = prior_[static_cast<size_t>(next.token)];
    return next;
  }
  const Candidate& best = *std::ranges::max_element(
      all.candidates, {}, [](const Candidate& c) { return c.log_weight; });
  const auto token = static_cast<size_t>(best.token);
  next.token = best.token;
  next.window_scores = scores_of(scores, token);
  next.probability =
      std::exp(log_add(best.log_weight, log_prior_[token]) - log_one_plus(all.log_mixture));
  for (int64_t j = 0; j < best.depth; ++j) next.score += next.window_scores[static_cast<size_t>(j)];
  if (next.evidence > 0)
    next.matched_length = scores.lengths()[static_cast<size_t>(best.depth) - 1];
  return next;
}

std::vector<double> LikelihoodDecoder::probabilities(const WindowScores& scores) const {
  const Posterior all = posterior(scores);
  const double log_total = log_one_plus(all.log_mixture);
  std::vector<double> probabilities = prior_;
  for (double& probability : probabilities) probability *= std::exp(-log_total);
  for (const Candidate& candidate : all.candidates)
    probabilities[static_cast<size_t>(candidate.token)] +=
        std::exp(candidate.log_weight - log_total);
  return probabilities;
}

double LikelihoodDecoder::log_expected(int64_t m) {
  return static_cast<double>(1 - m) * std::numbers::ln10;
}

std::vector<LikelihoodDecoder::Depths> LikelihoodDecoder::depths(const WindowScores& scores) const {
  std::vector<Depths> all;
  if (noise_ == 0) return all;
  for (const Candidate& candidate : candidates(scores)) {
    Depths& depths = all.emplace_back(Depths{.token = candidate.token});
    double log_ratio = candidate.log_ratio, log_sum = 0;  // 0: stored with none
    for (int64_t m = 1; m <= scores.windows(); ++m) {
      log_ratio += vote(scores.window(m - 1)[static_cast<size_t>(candidate.token)]);
      depths.evidence.push_back(log_ratio - log_sum);
      depths.log_probability.push_back(log_ratio + log_expected(m));
      log_sum = log_add(log_sum, log_ratio + log_expected(m));
    }
    double log_deeper = kNever;
    for (auto deepest = depths.log_probability.rbegin(); deepest != depths.log_probability.rend();
         ++deepest) {
      log_deeper = log_add(log_deeper, *deepest);
      *deepest = log_deeper - log_sum;
    }
  }
  return all;
}

}  // namespace tessera
