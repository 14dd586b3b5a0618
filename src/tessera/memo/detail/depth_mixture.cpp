#include "tessera/memo/detail/depth_mixture.h"

#include <utility>

namespace tessera::memo {
namespace {

constexpr double kAllWindows = 0.9;  // p_k
constexpr double kRivals = 0.1;      // r

/// log p_m, given that a stored text continues here.
double log_prior_of_depth(int64_t m, int64_t k) {
  if (k == 1) return 0;
  return std::log(m == k ? kAllWindows : (1 - kAllWindows) / static_cast<double>(k - 1));
}

}  // namespace

DepthMixture::DepthMixture(std::vector<Candidate> candidates, int64_t windows)
    : candidates_(std::move(candidates)), windows_(windows) {}

void DepthMixture::add_window(std::span<const double> scores, double noise) {
  const auto m = std::ssize(log_depths_) + 1;
  const double log_depth = log_prior_of_depth(m, windows_) + log_rivals_;
  log_last_rivals_ = log_rivals_;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    Candidate& candidate = candidates_[i];
    candidate.log_ratio += log_likelihood_ratio(scores[i], noise);
    candidate.log_odds = candidate.log_ratio - candidate.log_rival;
    const double weight = log_depth + candidate.log_odds;
    candidate.log_weight = log_add(candidate.log_weight, weight);
    if (weight > candidate.best_weight) {
      candidate.best_weight = weight;
      candidate.depth = m;
    }
    const double log_rival = log_add(candidate.log_rival, std::log(kRivals) + candidate.log_ratio);
    log_rivals_ += log_rival - candidate.log_rival;
    candidate.log_rival = log_rival;
  }
  log_rivals_ -= kRivals;
  log_depths_.push_back(log_depth);
}

double DepthMixture::log_depth_ratio() const {
  double log_sum = kLogZero;
  for (const Candidate& candidate : candidates_) log_sum = log_add(log_sum, candidate.log_odds);
  return log_last_rivals_ + log_sum;
}

double DepthMixture::log_mixture() const {
  double log_mixture = kLogZero;
  for (const Candidate& candidate : candidates_)
    log_mixture = log_add(log_mixture, candidate.log_weight);
  return log_mixture;
}

}  // namespace tessera::memo
