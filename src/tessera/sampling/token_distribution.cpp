#include "tessera/sampling/token_distribution.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/base/error.h"

namespace tessera {

TokenDistribution::TokenDistribution(std::span<const float> logits) : logits_(logits) {
  check_argument(!logits.empty(), "TokenDistribution: there are no logits");
  for (size_t token = 0; token < logits.size(); ++token) {
    check_argument(!std::isnan(logits[token]) && logits[token] != INFINITY,
                   "the logit of token {} is {}: the model's parameters are damaged, or its "
                   "training diverged",
                   token, logits[token]);
    if (logits[token] > logits[most_probable_]) most_probable_ = token;
  }
  const float highest = logits[most_probable_];
  check_argument(std::isfinite(highest), "every logit is -infinity: no token can come");
  double sum = 0;
  for (float logit : logits) sum += std::exp(logit - highest);
  log_normaliser_ = highest + std::log(sum);
}

double TokenDistribution::log_probability(int64_t token) const {
  check_argument(token >= 0 && token < static_cast<int64_t>(logits_.size()),
                 "token {} is outside the vocabulary of {}", token, logits_.size());
  return logits_[token] - log_normaliser_;
}

std::vector<TokenChoice> TokenDistribution::most_probable(int64_t count) const {
  std::vector<TokenChoice> result;
  for (int64_t token : largest(logits_, count)) result.push_back({token, log_probability(token)});
  return result;
}

ScoredToken TokenDistribution::score(int64_t token, int64_t alternatives) const {
  return {token, log_probability(token), token == most_probable_, most_probable(alternatives)};
}

std::vector<int64_t> largest(std::span<const float> logits, int64_t count) {
  if (count <= 0) return {};
  std::vector<int64_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto before = [&](int64_t a, int64_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  const int64_t kept = std::min<int64_t>(count, ids.size());
  std::nth_element(ids.begin(), ids.begin() + kept, ids.end(), before);
  std::sort(ids.begin(), ids.begin() + kept, before);
  ids.resize(kept);
  return ids;
}

}  // namespace tessera
