#include "tessera/infer/beam_search.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/interrupt.h"
#include "tessera/infer/token_distribution.h"

namespace tessera {
namespace {

/// A beginning: its row in the session, which has read all of its tokens but the last.
struct Beginning {
  Hypothesis hypothesis;
  int64_t row = 0;
};

class Search {
 public:
  explicit Search(const BeamOptions& options) : options_(options), live_(1) {}

  /// Extends every beginning by one token; logits [beginnings, V].
  void extend(const at::Tensor& logits) {
    std::vector<Beginning> longer;
    const size_t V = logits.size(1);
    for (size_t row = 0; row < live_.size(); ++row) {
      const TokenDistribution next({logits.data_ptr<float>() + row * V, V});
      const Hypothesis& from = live_[row].hypothesis;
      if (options_.end_of_text) finish(with_token(from, next, *options_.end_of_text));
      // One more than the beams, because end of text may be among them.
      for (const auto& choice : next.most_probable(options_.beams + 1))
        if (choice.token != options_.end_of_text)
          longer.push_back({with_token(from, next, choice.token), static_cast<int64_t>(row)});
    }
    std::stable_sort(longer.begin(), longer.end(), [](const Beginning& a, const Beginning& b) {
      return a.hypothesis.log_probability > b.hypothesis.log_probability;
    });
    if (static_cast<int64_t>(longer.size()) > options_.beams) longer.resize(options_.beams);
    live_ = std::move(longer);
  }

  /// Whether a beginning may still come to beat one of those that have ended.
  bool open() const {
    if (live_.empty()) return false;
    if (static_cast<int64_t>(ended_.size()) < options_.beams) return true;
    // Log-probabilities only fall; the longest text divides them by the most.
    const double best = live_.front().hypothesis.log_probability /
                        std::pow(options_.max_tokens, options_.length_exponent);
    return best > ended_.back().score;
  }

  std::vector<int64_t> rows() const {
    std::vector<int64_t> result;
    for (const auto& beginning : live_) result.push_back(beginning.row);
    return result;
  }
  Tokens last_tokens() const {
    Tokens result;
    for (const auto& beginning : live_) result.push_back(beginning.hypothesis.tokens.back());
    return result;
  }

  /// The hypotheses, those that have not ended among them.
  std::vector<Hypothesis> result() && {
    for (auto& beginning : live_)
      if (!beginning.hypothesis.tokens.empty()) finish(std::move(beginning.hypothesis));
    return std::move(ended_);
  }

 private:
  Hypothesis with_token(const Hypothesis& from, const TokenDistribution& next,
                        int64_t token) const {
    Hypothesis longer = from;
    longer.tokens.push_back(token);
    longer.log_probability += next.log_probability(token);
    longer.score =
        longer.log_probability / std::pow(longer.tokens.size(), options_.length_exponent);
    longer.ended = token == options_.end_of_text;
    return longer;
  }

  /// Keeps the best `beams`, best first.
  void finish(Hypothesis hypothesis) {
    const auto place = std::upper_bound(
        ended_.begin(), ended_.end(), hypothesis,
        [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
    ended_.insert(place, std::move(hypothesis));
    if (static_cast<int64_t>(ended_.size()) > options_.beams) ended_.pop_back();
  }

  const BeamOptions& options_;
  std::vector<Beginning> live_;    // by log-probability
  std::vector<Hypothesis> ended_;  // by score
};

}  // namespace

void BeamOptions::check() const {
  if (beams < 1) throw UsageError("beams is {}, expected 1 or more", beams);
  if (max_tokens < 0) throw UsageError("max_tokens is {}, expected 0 or more", max_tokens);
  if (!(length_exponent >= 0 && std::isfinite(length_exponent)))
    throw UsageError("length_exponent is {}, expected 0 or more", length_exponent);
}

std::vector<Hypothesis> beam_search(LanguageModel& model, const Tokens& prompt,
                                    const BeamOptions& options) {
  options.check();
  StreamingSession session(model, options.reading.value_or(natural_reading(model)), options.bound);
  Search search(options);
  at::Tensor logits = session.add({prompt});
  for (int64_t length = 0; length < options.max_tokens; ++length) {
    if (length > 0) {
      if (!search.open() || InterruptGuard::interrupted()) break;
      session.select(search.rows());
      logits = session.step(search.last_tokens());
    }
    search.extend(logits.to(at::kFloat).contiguous());
  }
  return std::move(search).result();
}

}  // namespace tessera
