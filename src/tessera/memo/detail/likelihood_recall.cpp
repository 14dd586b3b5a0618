#include "tessera/memo/detail/likelihood_recall.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tessera/base/statistics.h"

namespace tessera::memo {
namespace {

constexpr int kDraws = 16;
constexpr double kStep = 0.05;  // nats; log priors that agree to this form a group

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
    groups_[place->second].tokens += 1;
  }
}

/// The number of tokens of each group that are not among the stored ones.
std::vector<double> LikelihoodRecall::count_others(std::span<const Stored> stored) const {
  std::vector<double> others;
  for (const Group& group : groups_) others.push_back(group.tokens);
  for (const Stored& token : stored) others[group_of_token_[token.token]] -= 1;
  return others;
}

/// The mixture that the decoder sees in one draw of the noise on the stored tokens' scores.
DepthMixture LikelihoodRecall::draw(std::span<const Stored> stored, std::span<const double> noise,
                                    RandomStream& random) const {
  std::vector<DepthMixture::Candidate> tokens;
  for (const Stored& token : stored)
    tokens.push_back({.token = token.token, .log_ratio = log_prior_[token.token]});
  const size_t windows = stored.front().scores.size();
  DepthMixture mixture(std::move(tokens), windows);
  std::vector<double> scores(stored.size());
  for (size_t m = 0; m < windows; ++m) {
    for (size_t i = 0; i < stored.size(); ++i)
      scores[i] = stored[i].scores[m] + noise[m] * random.normal();
    mixture.add_window(scores, noise[m]);
  }
  return mixture;
}

double LikelihoodRecall::recall(std::span<const Stored> stored, std::span<const double> noise,
                                RandomStream random) const {
  using Candidate = DepthMixture::Candidate;
  const std::vector<double> others = count_others(stored);
  double recall = 0;
  for (int i = 0; i < kDraws; ++i) {
    const DepthMixture mixture = draw(stored, noise, random);
    const auto& tokens = mixture.candidates();
    if (std::ranges::max_element(tokens, {}, &Candidate::log_weight) != tokens.begin()) continue;
    const double right = tokens.front().log_weight;
    double log_recall = 0, variance = 0;  // of the sum of log likelihood ratios
    for (size_t m = 0; m < mixture.log_depths().size(); ++m) {
      variance += 1 / (noise[m] * noise[m]);
      const double mean = mixture.log_depths()[m] - variance / 2;
      const double deviation = std::sqrt(variance);
      for (size_t g = 0; g < groups_.size(); ++g)
        if (others[g] > 0)
          log_recall +=
              others[g] * log_normal_cdf((right - mean - groups_[g].log_prior) / deviation);
    }
    recall += std::exp(log_recall) / kDraws;
  }
  return recall;
}

}  // namespace tessera::memo
