#include "tessera/sampling/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/base/consecutive.h"
#include "tessera/base/error.h"
#include "tessera/base/random.h"

namespace tessera {
namespace {

constexpr int64_t kFirstNucleus = 64;  // tokens sorted at first to find the nucleus

bool changes_logits(const SamplingOptions& options) {
  return !options.logit_bias.empty() || options.repetition_penalty != 1.0 ||
         options.frequency_penalty != 0.0 || options.presence_penalty != 0.0;
}

void add_bias(std::vector<float>& logits, const std::map<int64_t, double>& bias) {
  for (const auto& [token, added] : bias) {
    check_argument(token >= 0 && token < std::ssize(logits),
                   "logit_bias names token {}, which is outside the vocabulary of {}", token,
                   logits.size());
    logits[token] += static_cast<float>(added);
  }
}

/// How often each token comes in a text.
std::map<int64_t, int64_t> counts_of(std::span<const int64_t> text, size_t vocabulary) {
  std::map<int64_t, int64_t> counts;
  for (int64_t token : text) {
    check_argument(token >= 0 && token < static_cast<int64_t>(vocabulary),
                   "token {} of the context is outside the vocabulary of {}", token, vocabulary);
    ++counts[token];
  }
  return counts;
}

/// Steps 1 to 3.
std::vector<float> adjusted(std::span<const float> logits, std::span<const int64_t> context,
                            size_t prompt, const SamplingOptions& options) {
  std::vector<float> result(logits.begin(), logits.end());
  add_bias(result, options.logit_bias);
  const double r = options.repetition_penalty;
  if (r != 1.0)
    for (const auto& [token, count] : counts_of(context, logits.size()))
      result[token] = result[token] > 0 ? result[token] / r : result[token] * r;
  if (options.frequency_penalty != 0.0 || options.presence_penalty != 0.0)
    for (const auto& [token, count] : counts_of(context.subspan(prompt), logits.size()))
      result[token] -= count * options.frequency_penalty + options.presence_penalty;
  for (size_t token = 0; token < result.size(); ++token)
    if (std::isnan(result[token]) || result[token] == INFINITY)
      throw UsageError("the logit bias or the penalties make the logit of token {} {}", token,
                       result[token]);
  if (*std::max_element(result.begin(), result.end()) == -INFINITY)
    throw UsageError("the logit bias or the penalties leave no token that could be drawn");
  return result;
}

/// Tokens that may be drawn and their weights exp((logit - highest) / temperature).
struct Candidates {
  std::vector<int64_t> tokens;
  std::vector<double> weights;
  double total = 0;

  Candidates(std::span<const float> logits, std::vector<int64_t> ids, double temperature)
      : tokens(std::move(ids)) {
    const double highest = *std::max_element(logits.begin(), logits.end());
    weights.reserve(tokens.size());
    for (int64_t token : tokens) {
      weights.push_back(std::exp((logits[token] - highest) / temperature));
      total += weights.back();
    }
  }
  /// How many of them, from the front, reach this share of `whole`; none where they do not.
  size_t reaching(double share) const {
    double sum = 0;
    for (size_t i = 0; i < weights.size(); ++i)
      if ((sum += weights[i]) >= share) return i + 1;
    return 0;
  }
  void keep(size_t count) {
    tokens.resize(count);
    weights.resize(count);
    total = std::accumulate(weights.begin(), weights.end(), 0.0);
  }
  /// The highest weight is 1.
  void keep_from(double lowest) {
    size_t kept = 0;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (weights[i] < lowest) continue;
      tokens[kept] = tokens[i];
      weights[kept++] = weights[i];
    }
    keep(kept);
  }
};

/// The nucleus of the `k` most probable tokens. A nucleus is mostly small, so ever larger heads of
/// the order are sorted until one holds it.
Candidates nucleus(std::span<const float> logits, int64_t k, const SamplingOptions& options) {
  const auto most_probable = [&](int64_t count) {
    return Candidates(logits, largest(logits, count), options.temperature);
  };
  const bool all = k == std::ssize(logits);
  const double total = all ? Candidates(logits, consecutive<int64_t>(k), options.temperature).total
                           : most_probable(k).total;
  for (int64_t count = std::min(kFirstNucleus, k);; count = std::min(8 * count, k)) {
    Candidates head = most_probable(count);
    const size_t size = head.reaching(options.top_p * total);
    if (size == 0 && count < k) continue;
    head.keep(size > 0 ? size : count);  // rounding may leave the last sum just below its share
    return head;
  }
}

/// Steps 4 to 7.
Candidates candidates(std::span<const float> logits, const SamplingOptions& options) {
  const int64_t V = logits.size();
  const int64_t k = options.top_k > 0 ? std::min(options.top_k, V) : V;
  Candidates result = options.top_p < 1.0
                          ? nucleus(logits, k, options)
                          : Candidates(logits, k < V ? largest(logits, k) : consecutive<int64_t>(V),
                                       options.temperature);
  if (options.min_p > 0) result.keep_from(options.min_p);
  return result;
}

/// Uniform in [0, 1), 53 bits, a function of its arguments.
double uniform(uint64_t seed, uint64_t sequence, uint64_t position) {
  return static_cast<double>(Philox(seed, sequence).number(position) >> 11) * 0x1p-53;
}

}  // namespace

TokenDistribution::TokenDistribution(std::span<const float> logits) : logits_(logits) {
  check_argument(!logits.empty(), "TokenDistribution: there are no logits");
  for (size_t token = 0; token < logits.size(); ++token) {
    if (std::isnan(logits[token]) || logits[token] == INFINITY)
      throw std::runtime_error(
          fmt::format("the logit of token {} is {}: the model's parameters or the session that was "
                      "loaded are damaged, or the training diverged",
                      token, logits[token]));
    if (logits[token] > logits[most_probable_]) most_probable_ = token;
  }
  const float highest = logits[most_probable_];
  check_argument(std::isfinite(highest), "every logit is -infinity: no token can be drawn");
  double sum = 0;
  for (float logit : logits) sum += std::exp(logit - highest);
  log_normaliser_ = highest + std::log(sum);
}

double TokenDistribution::log_probability(int64_t token) const {
  check_argument(token >= 0 && token < std::ssize(logits_),
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
  std::vector<int64_t> ids = consecutive<int64_t>(logits.size());
  const auto before = [&](int64_t a, int64_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  const int64_t kept = std::min<int64_t>(count, ids.size());
  std::nth_element(ids.begin(), ids.begin() + kept, ids.end(), before);
  std::sort(ids.begin(), ids.begin() + kept, before);
  ids.resize(kept);
  return ids;
}

void SamplingOptions::check() const {
  // Written so that NaN fails each check.
  if (!(temperature >= 0 && std::isfinite(temperature)))
    throw UsageError("temperature is {}, expected 0 or more", temperature);
  if (top_k < 0) throw UsageError("top_k is {}, expected 1 or more, or 0 for all tokens", top_k);
  if (!(top_p > 0 && top_p <= 1)) throw UsageError("top_p is {}, expected (0, 1]", top_p);
  if (!(min_p >= 0 && min_p <= 1)) throw UsageError("min_p is {}, expected [0, 1]", min_p);
  if (!(repetition_penalty > 0 && std::isfinite(repetition_penalty)))
    throw UsageError("repetition_penalty is {}, expected more than 0; 1 changes nothing",
                     repetition_penalty);
  if (!std::isfinite(frequency_penalty))
    throw UsageError("frequency_penalty is {}, expected a number; 0 changes nothing",
                     frequency_penalty);
  if (!std::isfinite(presence_penalty))
    throw UsageError("presence_penalty is {}, expected a number; 0 changes nothing",
                     presence_penalty);
  for (const auto& [token, bias] : logit_bias)
    if (std::isnan(bias) || bias == INFINITY)
      throw UsageError("logit_bias of token {} is {}, expected a number or -infinity", token, bias);
  if (alternatives < 0) throw UsageError("alternatives is {}, expected 0 or more", alternatives);
}

ScoredToken draw_token(std::span<const float> logits, std::span<const int64_t> context,
                       const SamplingOptions& options, uint64_t sequence, size_t prompt) {
  options.check();
  check_argument(prompt <= context.size(), "a prompt of {} tokens in a context of {}", prompt,
                 context.size());
  const TokenDistribution model(logits);
  std::vector<float> changed;
  if (changes_logits(options)) logits = changed = adjusted(logits, context, prompt, options);
  if (options.temperature == 0)
    return model.score(std::ranges::max_element(logits) - logits.begin(), options.alternatives);

  const Candidates drawn_from = candidates(logits, options);
  const double threshold = uniform(options.seed, sequence, context.size()) * drawn_from.total;
  double sum = 0;
  size_t last = 0;  // of positive weight, for a threshold that rounding puts past the end
  for (size_t i = 0; i < drawn_from.tokens.size(); ++i) {
    if (drawn_from.weights[i] == 0) continue;
    last = i;
    if ((sum += drawn_from.weights[i]) > threshold) break;
  }
  return model.score(drawn_from.tokens[last], options.alternatives);
}

}  // namespace tessera
