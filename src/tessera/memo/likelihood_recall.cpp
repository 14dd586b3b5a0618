#include "tessera/memo/likelihood_recall.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "tessera/theory/normal_law.h"

namespace tessera::theory {
namespace {

constexpr int kDraws = 16;
constexpr double kStep = 0.05;  // of log priors that count as one, in nats
constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr double kAllWindows = 0.9, kRivals = 0.1;  // p_k and r of LikelihoodDecoder

double log_prior_of_depth(size_t m, size_t k) {
  if (k == 1) return 0;
  return std::log(m == k ? kAllWindows : (1 - kAllWindows) / static_cast<double>(k - 1));
}

/// log(e^a + e^b).
double log_add(double a, double b) {
  if (a == kNever) return b;
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

}  // namespace

LikelihoodRecall::LikelihoodRecall(const std::vector<double>& prior) {
  double total = 0;
  for (const double weight : prior) total += weight;
  std::map<int64_t, int32_t> known;
  for (const double weight : prior) {
    log_prior_.push_back(std::log(weight / total));
    const auto [place, is_new] = known.try_emplace(std::llround(log_prior_.back() / kStep),
                                                   static_cast<int32_t>(groups_.size()));
    if (is_new) groups_.push_back({.log_prior = kStep * static_cast<double>(place->first)});
    group_of_token_.push_back(place->second);
    groups_[static_cast<size_t>(place->second)].tokens += 1;
  }
}

/// Of each group, the tokens that are not among the stored ones.
std::vector<double> LikelihoodRecall::count_others(std::span<const Stored> stored) const {
  std::vector<double> others;
  for (const Group& group : groups_) others.push_back(group.tokens);
  for (const Stored& token : stored)
    others[static_cast<size_t>(group_of_token_[static_cast<size_t>(token.token)])] -= 1;
  return others;
}

LikelihoodRecall::Draw LikelihoodRecall::draw(std::span<const Stored> stored, double noise,
                                              RandomStream& random) const {
  struct Token {
    double log_ratio, log_rival = 0, log_weight = kNever;
  };
  std::vector<Token> tokens;
  for (const Stored& token : stored)
    tokens.push_back({log_prior_[static_cast<size_t>(token.token)]});
  const size_t windows = stored.front().scores.size();
  Draw result;
  double log_rivals = 0;
  for (size_t m = 0; m < windows; ++m) {
    const double log_depth = log_prior_of_depth(m + 1, windows) + log_rivals;
    for (size_t i = 0; i < tokens.size(); ++i) {
      Token& token = tokens[i];
      const double score = stored[i].scores[m] + noise * random.normal();
      token.log_ratio += (score - 0.5) / (noise * noise);
      token.log_weight = log_add(token.log_weight, log_depth + token.log_ratio - token.log_rival);
      const double log_rival = log_add(token.log_rival, std::log(kRivals) + token.log_ratio);
      log_rivals += log_rival - token.log_rival;
      token.log_rival = log_rival;
    }
    log_rivals -= kRivals;
    result.log_depths.push_back(log_depth);
  }
  for (const Token& token : tokens) result.log_weights.push_back(token.log_weight);
  return result;
}

double LikelihoodRecall::recall(std::span<const Stored> stored, double noise,
                                RandomStream random) const {
  const std::vector<double> others = count_others(stored);
  double recall = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto [log_weights, log_depths] = draw(stored, noise, random);
    if (std::ranges::max_element(log_weights) != log_weights.begin()) continue;
    double log_recall = 0;
    for (size_t m = 0; m < log_depths.size(); ++m) {
      const auto windows = static_cast<double>(m + 1);
      const double mean = log_depths[m] - windows / (2 * noise * noise);
      const double deviation = std::sqrt(windows) / noise;
      for (size_t g = 0; g < groups_.size(); ++g)
        if (others[g] > 0)
          log_recall += others[g] *
                        log_normal_cdf((log_weights[0] - mean - groups_[g].log_prior) / deviation);
    }
    recall += std::exp(log_recall) / kDraws;
  }
  return recall;
}

}  // namespace tessera::theory
