#include "tessera/memory/next_token.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/base/error.h"

namespace tessera {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double log_sum(std::span<const double> logs) {
  const double largest = logs.empty() ? kNever : *std::ranges::max_element(logs);
  if (largest == kNever) return kNever;
  double sum = 0;
  for (const double log : logs) sum += std::exp(log - largest);
  return largest + std::log(sum);
}

NextToken token_of(const WindowScores& scores, size_t token) {
  NextToken next;
  next.token = static_cast<int32_t>(token);
  for (int64_t k = 0; k < scores.windows(); ++k)
    next.window_scores.push_back(scores.window(k)[token]);
  return next;
}

double sum_of_first(const NextToken& token, int64_t windows) {
  double sum = 0;
  for (int64_t k = 0; k < windows; ++k) sum += token.window_scores[static_cast<size_t>(k)];
  return sum;
}

}  // namespace

NextToken by_score(const WindowScores& scores, double noise) {
  const auto V = static_cast<size_t>(scores.vocabulary());
  const auto k = static_cast<double>(scores.windows());
  std::vector<double> sums(V, 0.0);
  for (int64_t window = 0; window < scores.windows(); ++window)
    for (size_t y = 0; y < V; ++y) sums[y] += scores.window(window)[y];
  const auto best = static_cast<size_t>(std::ranges::max_element(sums) - sums.begin());
  NextToken next = token_of(scores, best);
  next.score = sums[best];
  next.recalled = next.score > noise * std::sqrt(2 * k * std::log(static_cast<double>(V)));
  if (next.recalled) next.matched_length = scores.lengths().back();
  const double log_prior = -std::log(static_cast<double>(V));
  for (double& sum : sums) sum = log_prior + (sum - k / 2) / (noise * noise);
  const double log_total = scores.windows() == 0 ? kNever : log_sum(sums);
  const double log_all = log_sum(std::vector<double>{0.0, log_total});
  next.probability = std::exp(log_prior - log_all);
  if (log_total != kNever) next.probability += std::exp(sums[best] - log_all);
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
  for (double& weight : prior_) weight /= total;
}

LikelihoodDecoder::Mixture LikelihoodDecoder::mixture(const WindowScores& scores) const {
  const auto V = static_cast<size_t>(scores.vocabulary());
  check_argument(prior_.size() == V, "likelihood decoder: scores of {} tokens meet a prior of {}",
                 V, prior_.size());
  Mixture mixture{std::vector<double>(V, kNever), kNever};
  std::vector<double> ratios(static_cast<size_t>(scores.windows()));
  for (size_t y = 0; y < V; ++y) {
    double ratio = std::log(prior_[y]) - std::log(static_cast<double>(scores.windows()));
    for (int64_t k = 0; k < scores.windows(); ++k)
      ratios[static_cast<size_t>(k)] = ratio += (scores.window(k)[y] - 0.5) / (noise_ * noise_);
    mixture.log_shares[y] = log_sum(ratios);
  }
  mixture.log_total = log_sum(mixture.log_shares);
  return mixture;
}

double LikelihoodDecoder::probability(const Mixture& mixture, size_t token) const {
  const double log_all = log_sum(std::vector<double>{0.0, mixture.log_total});
  return std::exp(mixture.log_shares[token] - log_all) + prior_[token] * std::exp(-log_all);
}

int64_t LikelihoodDecoder::voting_windows(const WindowScores& scores, size_t token) const {
  int64_t best = 0;
  double ratio = 0, largest = kNever;
  for (int64_t k = 0; k < scores.windows(); ++k) {
    ratio += scores.window(k)[token] - 0.5;
    if (ratio > largest) {
      largest = ratio;
      best = k + 1;
    }
  }
  return best;
}

NextToken LikelihoodDecoder::best(const WindowScores& scores) const {
  const Mixture shares = mixture(scores);
  size_t best = 0;
  double largest = -1;
  for (size_t y = 0; y < prior_.size(); ++y)
    if (const double p = probability(shares, y); p > largest) {
      largest = p;
      best = y;
    }
  NextToken next = token_of(scores, best);
  const int64_t windows = voting_windows(scores, best);
  next.score = sum_of_first(next, windows);
  next.probability = largest;
  next.recalled = shares.log_total > -std::log(error_rate_);
  if (next.recalled) next.matched_length = scores.lengths()[static_cast<size_t>(windows - 1)];
  return next;
}

std::vector<double> LikelihoodDecoder::probabilities(const WindowScores& scores) const {
  const Mixture shares = mixture(scores);
  std::vector<double> result(prior_.size());
  for (size_t y = 0; y < result.size(); ++y) result[y] = probability(shares, y);
  return result;
}

}  // namespace tessera
