#include "tessera/memo/likelihood_decoder.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/memo/detail/depth_mixture.h"

namespace tessera::memo {
namespace {

constexpr double kNotStored = -14;  // log of a likelihood ratio times its prior

void check_vocabulary(const WindowScores& scores, std::span<const double> log_prior) {
  check_argument(
      std::ssize(log_prior) == scores.vocabulary(),
      "likelihood decoder: the scores are of {} tokens, the prior is of {}; they must be equal",
      scores.vocabulary(), log_prior.size());
}

}  // namespace

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

double LikelihoodDecoder::noise_of(const WindowScores& scores, int64_t window) const {
  return std::max(noise_, scores.noise(window));
}

/// [V]: of each token the largest log ratio that it was stored with the first windows, one or more,
/// and its prior. bonus: added to the ratio of so many windows.
std::vector<double> LikelihoodDecoder::largest_ratios(const WindowScores& scores,
                                                      std::span<const double> log_prior,
                                                      std::span<const double> bonus) const {
  constexpr size_t kBlock = 512;  // tokens, whose numbers stay in the first-level cache
  std::vector<double> ratios(log_prior.begin(), log_prior.end());
  std::vector<double> largest(ratios.size(), kLogZero);
  for (size_t first = 0; first < ratios.size(); first += kBlock) {
    const size_t end = std::min(ratios.size(), first + kBlock);
    for (size_t i = 0; i < bonus.size(); ++i) {
      const int64_t j = i;
      const float* window = scores.window(j).data();
      const double per_score = log_likelihood_ratio(1.5, noise_of(scores, j)), more = bonus[i];
      for (size_t y = first; y < end; ++y) {
        ratios[y] += per_score * (window[y] - 0.5);
        largest[y] = std::max(largest[y], ratios[y] + more);
      }
    }
  }
  return largest;
}

/// Of no window yet: the tokens that may have been stored with one window at least, each with its
/// prior.
DepthMixture LikelihoodDecoder::candidates(const WindowScores& scores,
                                           std::span<const double> log_prior) const {
  check_vocabulary(scores, log_prior);
  if (noise_ == 0) return DepthMixture({}, scores.windows());
  const std::vector<double> no_bonus(scores.windows(), 0);
  const std::vector<double> largest = largest_ratios(scores, log_prior, no_bonus);
  std::vector<DepthMixture::Candidate> found;
  for (size_t y = 0; y < largest.size(); ++y)
    if (largest[y] > kNotStored)
      found.push_back({.token = static_cast<int32_t>(y), .log_ratio = log_prior[y]});
  return DepthMixture(std::move(found), scores.windows());
}

void LikelihoodDecoder::add_window(DepthMixture& mixture, const WindowScores& scores,
                                   int64_t window) const {
  std::vector<double> of_candidates(mixture.candidates().size());
  std::ranges::transform(mixture.candidates(), of_candidates.begin(), [&](const auto& candidate) {
    return scores.window(window)[candidate.token];
  });
  mixture.add_window(of_candidates, noise_of(scores, window));
}

DepthMixture LikelihoodDecoder::mixture(const WindowScores& scores) const {
  DepthMixture mixture = candidates(scores, log_prior_);
  for (int64_t j = 0; j < scores.windows(); ++j) add_window(mixture, scores, j);
  return mixture;
}

NextToken LikelihoodDecoder::best(const WindowScores& scores) const {
  const DepthMixture all = mixture(scores);
  NextToken next;
  next.evidence = all.log_mixture();
  next.recalled = next.evidence > -std::log(error_rate_);
  if (all.candidates().empty()) {
    next.token = static_cast<int32_t>(std::ranges::max_element(prior_) - prior_.begin());
    next.window_scores = scores.of_token(next.token);
    next.probability = prior_[next.token];
    return next;
  }
  const auto& best =
      *std::ranges::max_element(all.candidates(), {}, &DepthMixture::Candidate::log_weight);
  next.token = best.token;
  next.window_scores = scores.of_token(best.token);
  next.probability =
      std::exp(log_add(best.log_weight, log_prior_[best.token]) - log_one_plus_exp(next.evidence));
  for (int64_t j = 0; j < best.depth; ++j) next.score += next.window_scores[j];
  if (next.evidence > 0) next.matched_length = scores.lengths()[best.depth - 1];
  return next;
}

std::vector<double> LikelihoodDecoder::log_probabilities(const WindowScores& scores) const {
  const DepthMixture all = mixture(scores);
  std::vector<double> logs = log_prior_;
  for (const auto& candidate : all.candidates()) {
    double& own = logs[candidate.token];
    own = log_add(own, candidate.log_weight);
  }
  const double log_total = log_one_plus_exp(all.log_mixture());
  for (double& log : logs) log -= log_total;
  return logs;
}

double LikelihoodDecoder::log_expected(int64_t m) {
  return static_cast<double>(1 - m) * std::numbers::ln10;
}

bool LikelihoodDecoder::may_be_stored(const WindowScores& scores, size_t token) const {
  double log_ratio = log_prior_[token];
  for (int64_t j = 0; j < scores.windows(); ++j) {
    log_ratio += log_likelihood_ratio(scores.window(j)[token], noise_of(scores, j));
    if (log_ratio > kNotStored) return true;
  }
  return false;
}

LikelihoodDecoder::Depth LikelihoodDecoder::depth_of(const WindowScores& scores, int32_t token,
                                                     int64_t m) const {
  const size_t y = token;
  double log_ratio = log_prior_[y], log_fewer = 0, log_deeper = kLogZero;  // fewer: also none
  Depth depth = {.token = token};
  for (int64_t i = 1; i <= scores.windows(); ++i) {
    log_ratio += log_likelihood_ratio(scores.window(i - 1)[y], noise_of(scores, i - 1));
    if (i == m) depth.evidence = log_ratio - log_fewer;
    double& side = i < m ? log_fewer : log_deeper;
    side = log_add(side, log_ratio + log_expected(i));
  }
  depth.log_probability = log_deeper - log_add(log_fewer, log_deeper);
  return depth;
}

std::vector<LikelihoodDecoder::Depth> LikelihoodDecoder::depths(const WindowScores& scores,
                                                                int64_t m, double within) const {
  check_vocabulary(scores, log_prior_);
  if (noise_ == 0) return {};
  // What no log_probability is above, without an exponential: most tokens are far below the best.
  std::vector<double> expected;
  for (int64_t i = 1; i <= scores.windows(); ++i)
    expected.push_back(i < m ? kLogZero : log_expected(i));
  const std::vector<double> bounds = largest_ratios(scores, log_prior_, expected);
  const auto token_of = [](size_t y) { return static_cast<int32_t>(y); };
  const size_t first = std::ranges::max_element(bounds) - bounds.begin();
  const double log_terms = std::log(static_cast<double>(scores.windows()));
  const double least = depth_of(scores, token_of(first), m).log_probability - within;
  std::vector<Depth> found;
  for (size_t y = 0; y < bounds.size(); ++y)
    if (bounds[y] + log_terms > least && may_be_stored(scores, y))
      found.push_back(depth_of(scores, token_of(y), m));
  if (found.empty()) return found;
  const double best = std::ranges::max_element(found, {}, &Depth::log_probability)->log_probability;
  std::erase_if(found, [&](const Depth& d) { return d.log_probability <= best - within; });
  return found;
}

std::vector<StoredContinuation> LikelihoodDecoder::by_length(
    const WindowScores& scores, std::span<const double> log_prior) const {
  DepthMixture mixture = candidates(scores, log_prior);
  if (mixture.candidates().empty()) return {};
  std::vector<StoredContinuation> found;
  for (int64_t j = 0; j < scores.windows(); ++j) {
    add_window(mixture, scores, j);
    StoredContinuation& stored = found.emplace_back();
    stored.length = scores.lengths()[j];
    stored.log_ratio = mixture.log_depth_ratio();
    for (const auto& candidate : mixture.candidates())
      stored.tokens.emplace_back(candidate.token,
                                 candidate.log_odds - log_one_plus_exp(candidate.log_odds));
    // Shares of a sum whose largest term is 1, whatever they are themselves.
    const double largest =
        std::ranges::max_element(stored.tokens, {}, &std::pair<int32_t, double>::second)->second;
    double sum = 0;
    for (auto& [token, share] : stored.tokens) sum += share = std::exp(share - largest);
    for (auto& [token, share] : stored.tokens) share /= sum;
  }
  return found;
}

}  // namespace tessera::memo
