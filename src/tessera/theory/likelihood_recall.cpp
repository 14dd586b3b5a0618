#include "tessera/theory/likelihood_recall.h"

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

double log_prior_of_depth(int32_t m, int32_t k) {
  if (k == 1) return 0;
  return std::log(m == k ? kAllWindows : (1 - kAllWindows) / (k - 1));
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

std::vector<double> LikelihoodRecall::count_others(Stored right,
                                                   std::span<const Stored> rivals) const {
  std::vector<double> others;
  for (const Group& group : groups_) others.push_back(group.tokens);
  const auto take_out = [&](const Stored& token) {
    others[static_cast<size_t>(group_of_token_[static_cast<size_t>(token.token)])] -= 1;
  };
  take_out(right);
  for (const Stored& rival : rivals) take_out(rival);
  return others;
}

LikelihoodRecall::Draw LikelihoodRecall::draw(std::span<const Stored> stored, int32_t windows,
                                              double noise, RandomStream& random) const {
  struct Token {
    double log_ratio, log_rival = 0, log_weight = kNever;
  };
  std::vector<Token> tokens;
  for (const Stored& token : stored)
    tokens.push_back({log_prior_[static_cast<size_t>(token.token)]});
  Draw result;
  double log_rivals = 0;
  for (int32_t m = 1; m <= windows; ++m) {
    result.log_depths.push_back(log_prior_of_depth(m, windows) + log_rivals);
    for (size_t i = 0; i < tokens.size(); ++i) {
      Token& token = tokens[i];
      const double score = (m <= stored[i].depth ? 1 : 0) + noise * random.normal();
      token.log_ratio += (score - 0.5) / (noise * noise);
      token.log_weight =
          log_add(token.log_weight, result.log_depths.back() + token.log_ratio - token.log_rival);
      const double log_rival = log_add(token.log_rival, std::log(kRivals) + token.log_ratio);
      log_rivals += log_rival - token.log_rival;
      token.log_rival = log_rival;
    }
    log_rivals -= kRivals;
  }
  for (const Token& token : tokens) result.log_weights.push_back(token.log_weight);
  return result;
}

double LikelihoodRecall::recall(Stored right, std::span<const Stored> rivals, double noise,
                                RandomStream random) const {
  const std::vector<double> others = count_others(right, rivals);
  std::vector<Stored> stored = {right};
  stored.insert(stored.end(), rivals.begin(), rivals.end());
  double recall = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Draw weights = draw(stored, right.depth, noise, random);
    const double weight = weights.log_weights[0];
    if (std::ranges::max_element(weights.log_weights) != weights.log_weights.begin()) continue;
    double log_recall = 0;
    for (int32_t m = 1; m <= right.depth; ++m) {
      const double mean = weights.log_depths[static_cast<size_t>(m) - 1] - m / (2 * noise * noise);
      const double deviation = std::sqrt(m) / noise;
      for (size_t g = 0; g < groups_.size(); ++g)
        if (others[g] > 0)
          log_recall +=
              others[g] * log_normal_cdf((weight - mean - groups_[g].log_prior) / deviation);
    }
    recall += std::exp(log_recall) / kDraws;
  }
  return recall;
}

}  // namespace tessera::theory
