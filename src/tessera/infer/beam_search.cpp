#include "tessera/infer/beam_search.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/interrupt.h"
#include "tessera/base/machine.h"
#include "tessera/model/language_model.h"
#include "tessera/sampling/sampling.h"

namespace tessera {
namespace {

/// What a row of the session has read since the prompt.
struct Beginning {
  Tokens tokens;
  double log_probability = 0;
};

/// A beginning and one token more.
struct Extension {
  int64_t row = 0;
  int64_t token = 0;
  double log_probability = 0;  // of all of it
};

/// The most probable first; of equals the one that was there first.
bool before(const Extension& a, const Extension& b) {
  if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
  return a.row != b.row ? a.row < b.row : a.token < b.token;
}

/// The `most` most probable of many extensions.
class MostProbable {
 public:
  explicit MostProbable(size_t most) : most_(most) {}

  void add(const Extension& extension) {
    const bool full = kept_.size() == most_;
    if (full && !before(extension, kept_.front())) return;
    kept_.push_back(extension);
    std::push_heap(kept_.begin(), kept_.end(), before);
    if (!full) return;
    std::pop_heap(kept_.begin(), kept_.end(), before);
    kept_.pop_back();
  }
  std::vector<Extension> sorted() && {
    std::sort_heap(kept_.begin(), kept_.end(), before);
    return std::move(kept_);
  }

 private:
  size_t most_;
  std::vector<Extension> kept_;  // a heap with the least probable in front
};

class Search {
 public:
  explicit Search(const BeamOptions& options) : options_(options), live_(1) {}

  /// Extends every beginning by one token; logits [beginnings, V]. Returns false, with everything
  /// as before, where a signal asked for the end.
  bool extend(const at::Tensor& logits) {
    const size_t V = logits.size(1);
    MostProbable longer(options_.beams), ended(options_.beams);
    for (size_t row = 0; row < live_.size(); ++row) {
      if (InterruptGuard::interrupted()) return false;
      const TokenDistribution next({logits.data_ptr<float>() + row * V, V});
      const auto offer = [&](int64_t token, MostProbable& extensions) {
        const double sum = live_[row].log_probability + next.log_probability(token);
        if (std::isfinite(sum)) extensions.add({static_cast<int64_t>(row), token, sum});
      };
      if (options_.end_of_text) offer(*options_.end_of_text, ended);
      for (int64_t token = 0; token < static_cast<int64_t>(V); ++token)
        if (token != options_.end_of_text) offer(token, longer);
    }
    for (const Extension& extension : std::move(ended).sorted())
      finish(extended(extension), /*with_end=*/true);
    go_on_with(std::move(longer).sorted());
    return true;
  }

  /// Whether a beginning may still come to beat one of those that have ended.
  bool open() const {
    if (live_.empty()) return false;
    if (std::ssize(ended_) < options_.beams) return true;
    // Log-probabilities only fall; the longest text divides them by the most.
    return score(live_.front().log_probability, options_.max_tokens) > ended_.front().score;
  }

  /// For each beginning the row of the one that it extends, and its last token.
  const std::vector<int64_t>& rows() const { return rows_; }
  Tokens last_tokens() const {
    Tokens result;
    for (const auto& beginning : live_) result.push_back(beginning.tokens.back());
    return result;
  }

  /// The hypotheses, those that have not ended among them.
  std::vector<Hypothesis> result() && {
    for (auto& beginning : live_)
      if (!beginning.tokens.empty()) finish(std::move(beginning), /*with_end=*/false);
    std::stable_sort(ended_.begin(), ended_.end(), better);
    return std::move(ended_);
  }

 private:
  static bool better(const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; }
  double score(double log_probability, int64_t length) const {
    return log_probability / std::pow(length, options_.length_penalty);
  }

  Beginning extended(const Extension& extension) const {
    Beginning result = {live_[extension.row].tokens, extension.log_probability};
    result.tokens.push_back(extension.token);
    return result;
  }

  void go_on_with(const std::vector<Extension>& chosen) {
    std::vector<Beginning> longer;
    rows_.clear();
    for (const Extension& extension : chosen) {
      longer.push_back(extended(extension));
      rows_.push_back(extension.row);
    }
    live_ = std::move(longer);
  }

  /// Keeps the best `beams`.
  void finish(Beginning text, bool with_end) {
    const double its_score = score(text.log_probability, text.tokens.size());
    const bool full = std::ssize(ended_) == options_.beams;
    if (full && its_score <= ended_.front().score) return;
    if (full) {
      std::pop_heap(ended_.begin(), ended_.end(), better);
      ended_.pop_back();
    }
    ended_.push_back({std::move(text.tokens), text.log_probability, its_score, with_end});
    std::push_heap(ended_.begin(), ended_.end(), better);
  }

  const BeamOptions& options_;
  std::vector<Beginning> live_;    // by log-probability
  std::vector<int64_t> rows_;      // of the beginnings that the live ones extend
  std::vector<Hypothesis> ended_;  // a heap with the worst in front
};

void check_memory(LanguageModel& model, int64_t prompt_tokens, const BeamOptions& options) {
  const double wanted = beam_search_bytes(model, prompt_tokens, options);
  const double there = physical_memory();
  if (wanted > there)
    throw UsageError(
        "{} beams of up to {} tokens would take about {:.1f} GB of memory, this machine has {:.1f} "
        "GB; lower the number of beams or of tokens, or bound the memories",
        options.beams, options.max_tokens, wanted / 1e9, there / 1e9);
}

}  // namespace

void BeamOptions::check() const {
  if (beams < 1) throw UsageError("beams is {}, expected 1 or more", beams);
  if (max_tokens < 0) throw UsageError("max_tokens is {}, expected 0 or more", max_tokens);
  if (!(length_penalty >= 0 && std::isfinite(length_penalty)))
    throw UsageError("length_penalty is {}, expected 0 or more", length_penalty);
}

double beam_search_bytes(LanguageModel& model, int64_t prompt_tokens, const BeamOptions& options) {
  // The beams that go on are copied before the others are dropped, and memories have room for more
  // pairs than they hold.
  constexpr double kStates = 3, kCopies = 2;
  const bool windowed = options.reading.value_or(natural_reading(model)) == Reading::kWindowed;
  const double tokens = static_cast<double>(prompt_tokens) + options.max_tokens;
  const double read = windowed ? std::min<double>(tokens, model.window()) : tokens;
  // Tokens stand in the session, the beginnings and the hypotheses that have ended.
  const double ids = kCopies * sizeof(int64_t) * (tokens + 2.0 * options.max_tokens);
  const double logits = kCopies * sizeof(float) * model.vocabulary();
  return options.beams *
         (kStates * state_bytes(model, static_cast<int64_t>(read), options.bound) + ids + logits);
}

std::vector<Hypothesis> beam_search(LanguageModel& model, const Tokens& prompt,
                                    const BeamOptions& options) {
  options.check();
  StreamingSession session(model, options.reading.value_or(natural_reading(model)), options.bound);
  check_memory(model, prompt.size(), options);
  Search search(options);
  at::Tensor logits = session.add({prompt});
  for (int64_t length = 1; length <= options.max_tokens; ++length) {
    if (!search.extend(logits.to(at::kFloat).contiguous())) break;
    if (length == options.max_tokens || !search.open()) break;
    session.select(search.rows());
    logits = session.step(search.last_tokens());
  }
  return std::move(search).result();
}

}  // namespace tessera
