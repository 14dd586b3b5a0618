#include <algorithm>
#include <cmath>

#include "program/serve/served_store.h"
#include "tessera/memo/text_reader.h"

namespace tessera::serve {
namespace {

constexpr size_t kScoredContexts = 64;  // at once, between two looks at other readers

class StorePrompt : public PromptReading {
 public:
  explicit StorePrompt(TokenIds prompt) : tokens(std::move(prompt)) {}
  bool advance(int64_t) override { return true; }  // its last tokens are all that counts

  TokenIds tokens;
};

/// The decoder's probabilities after contexts.
class Predictor {
 public:
  explicit Predictor(std::shared_ptr<ServedStore> store) : store_(std::move(store)) {
    store_->read([this](const ServedStore::Snapshot& snapshot) {
      const auto& memory = snapshot.store.config().memory;
      vocabulary_ = memory.vocabulary;
      longest_ = static_cast<size_t>(memo::window_lengths(memory).back());
    });
  }

  int64_t vocabulary() const { return vocabulary_; }

  /// The last tokens before `end`, as many as the longest window has.
  std::vector<int32_t> context_of(const TokenIds& text, size_t end) const {
    const size_t first = end - std::min(end, longest_);
    return {text.begin() + first, text.begin() + end};
  }

  /// The logarithms of the probabilities [V] after each context.
  std::vector<std::vector<float>> logits_after(
      const std::vector<std::vector<int32_t>>& contexts) const {
    std::vector<std::vector<float>> logits;
    const std::vector<std::span<const int32_t>> views(contexts.begin(), contexts.end());
    store_->read([&](const ServedStore::Snapshot& snapshot) {
      logits.clear();
      const auto& decoder = snapshot.reader().decoder();
      memo::read_contexts(snapshot.store.memory(), views,
                          [&](size_t, const memo::WindowScores& scores) {
                            auto& row = logits.emplace_back();
                            for (const double probability : decoder.probabilities(scores))
                              row.push_back(static_cast<float>(std::log(probability)));
                          });
    });
    return logits;
  }

 private:
  std::shared_ptr<ServedStore> store_;
  int64_t vocabulary_ = 0;
  size_t longest_ = 0;  // window
};

class StoreScoring : public ScoreReading {
 public:
  StoreScoring(const Predictor& predictor, std::vector<TokenIds> texts, int64_t alternatives)
      : predictor_(predictor),
        texts_(std::move(texts)),
        alternatives_(alternatives),
        scores_(texts_.size()) {
    for (size_t text = 0; text < texts_.size(); ++text)
      scores_[text].push_back({texts_[text].front(), {}, false, {}});
  }

  bool advance(int64_t tokens) override {
    for (; tokens > 0 && next_ < texts_.size(); tokens -= kScoredContexts)
      score_some(texts_[next_], scores_[next_]);
    return next_ == texts_.size();
  }
  std::vector<std::vector<ScoredToken>> scores() override { return std::move(scores_); }

 private:
  /// The next tokens of a text; after its last one the first choice for another.
  void score_some(const TokenIds& text, std::vector<ScoredToken>& scores) {
    const size_t first = scores.size();
    const size_t last = std::min(text.size(), first + kScoredContexts - 1);
    std::vector<std::vector<int32_t>> contexts;
    for (size_t end = first; end <= last; ++end)
      contexts.push_back(predictor_.context_of(text, end));
    for (const auto& logits : predictor_.logits_after(contexts)) {
      const TokenDistribution next(logits);
      const bool inside = scores.size() < text.size();
      scores.push_back(
          next.score(inside ? text[scores.size()] : next.most_probable(), alternatives_));
    }
    if (last == text.size()) ++next_;
  }

  const Predictor& predictor_;
  std::vector<TokenIds> texts_;
  int64_t alternatives_;
  std::vector<std::vector<ScoredToken>> scores_;
  size_t next_ = 0;  // text
};

class StoreDecoder : public Decoder {
 public:
  explicit StoreDecoder(std::shared_ptr<ServedStore> store) : predictor_(std::move(store)) {}

  int64_t vocabulary() const override { return predictor_.vocabulary(); }
  double bytes(int64_t tokens) const override {
    return static_cast<double>(sizeof(int64_t)) * static_cast<double>(tokens) +
           static_cast<double>(sizeof(float)) * static_cast<double>(vocabulary());
  }

  std::unique_ptr<PromptReading> read(TokenIds prompt) override {
    return std::make_unique<StorePrompt>(std::move(prompt));
  }
  std::unique_ptr<ScoreReading> score(std::vector<TokenIds> texts, int64_t alternatives) override {
    return std::make_unique<StoreScoring>(predictor_, std::move(texts), alternatives);
  }

  void add(PromptReading& prompt) override {
    TokenIds& tokens = static_cast<StorePrompt&>(prompt).tokens;
    logits_.push_back(
        predictor_.logits_after({predictor_.context_of(tokens, tokens.size())}).front());
    texts_.push_back(std::move(tokens));
  }

  size_t rows() const override { return texts_.size(); }
  const TokenIds& tokens(size_t row) const override { return texts_.at(row); }
  std::span<const float> logits(size_t row) override { return logits_.at(row); }

  void step(const std::vector<int64_t>& rows, const TokenIds& drawn) override {
    std::vector<TokenIds> texts;
    std::vector<std::vector<int32_t>> contexts;
    for (size_t i = 0; i < rows.size(); ++i) {
      texts.push_back(texts_.at(rows[i]));
      texts.back().push_back(drawn[i]);
      contexts.push_back(predictor_.context_of(texts.back(), texts.back().size()));
    }
    logits_ =
        contexts.empty() ? std::vector<std::vector<float>>() : predictor_.logits_after(contexts);
    texts_ = std::move(texts);
  }
  void clear() noexcept override {
    texts_.clear();
    logits_.clear();
  }

 private:
  Predictor predictor_;
  std::vector<TokenIds> texts_;
  std::vector<std::vector<float>> logits_;  // of each text
};

}  // namespace

std::unique_ptr<Decoder> decoder_of(std::shared_ptr<ServedStore> store) {
  return std::make_unique<StoreDecoder>(std::move(store));
}

}  // namespace tessera::serve
