#include <algorithm>
#include <cmath>

#include "tessera/memo/text_reader.h"
#include "tessera/serve/served_store.h"

namespace tessera::serve {
namespace {

constexpr size_t kScoredContexts = 64;  // at once, between two looks at other readers

class StoreDecoder : public Decoder {
 public:
  explicit StoreDecoder(std::shared_ptr<ServedStore> store) : store_(std::move(store)) {
    store_->read([this](const ServedStore::Snapshot& snapshot) {
      const auto& memory = snapshot.store.config().memory;
      vocabulary_ = memory.vocabulary;
      longest_ = static_cast<size_t>(memo::window_lengths(memory).back());
    });
  }

  int64_t vocabulary() const override { return vocabulary_; }
  double bytes(int64_t tokens) const override {
    return static_cast<double>(sizeof(int64_t)) * static_cast<double>(tokens) +
           static_cast<double>(sizeof(float)) * static_cast<double>(vocabulary_);
  }

  void begin(TokenIds prompt) override { prompt_ = std::move(prompt); }
  bool read_piece() override {
    const auto scores = logits_after({context_of(prompt_, prompt_.size())});
    texts_.push_back(std::move(prompt_));
    logits_.push_back(scores.front());
    return true;
  }
  void drop_prompt() override { prompt_.clear(); }

  size_t rows() const override { return texts_.size(); }
  const TokenIds& tokens(size_t row) const override { return texts_.at(row); }
  std::span<const float> logits(size_t row) override { return logits_.at(row); }

  void step(const std::vector<int64_t>& rows, const TokenIds& drawn) override {
    std::vector<TokenIds> texts;
    std::vector<std::vector<int32_t>> contexts;
    for (size_t i = 0; i < rows.size(); ++i) {
      texts.push_back(std::move(texts_.at(rows[i])));
      texts.back().push_back(drawn[i]);
      contexts.push_back(context_of(texts.back(), texts.back().size()));
    }
    texts_ = std::move(texts);
    logits_ = logits_after(contexts);
  }

  std::vector<std::vector<ScoredToken>> score(const std::vector<TokenIds>& texts,
                                              int64_t alternatives) override {
    std::vector<std::vector<ScoredToken>> result;
    for (const TokenIds& text : texts) result.push_back(scored(text, alternatives));
    return result;
  }

 private:
  /// The last tokens before `end`, as many as the longest window has.
  std::vector<int32_t> context_of(const TokenIds& text, size_t end) const {
    const size_t first = end - std::min(end, longest_);
    return {text.begin() + first, text.begin() + end};
  }

  /// The logarithms of the decoder's probabilities [V] after each context.
  std::vector<std::vector<float>> logits_after(const std::vector<std::vector<int32_t>>& contexts) {
    std::vector<std::vector<float>> logits;
    const std::vector<std::span<const int32_t>> views(contexts.begin(), contexts.end());
    store_->read([&](const ServedStore::Snapshot& snapshot) {
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

  /// Every token of a text and the first choice for the next one.
  std::vector<ScoredToken> scored(const TokenIds& text, int64_t alternatives) {
    std::vector<ScoredToken> result = {{text.front(), {}, false, {}}};
    for (size_t first = 1; first <= text.size(); first += kScoredContexts) {
      std::vector<std::vector<int32_t>> contexts;
      for (size_t end = first; end <= std::min(text.size(), first + kScoredContexts - 1); ++end)
        contexts.push_back(context_of(text, end));
      const auto logits = logits_after(contexts);
      for (size_t i = 0; i < logits.size(); ++i) {
        const TokenDistribution next(logits[i]);
        const bool inside = first + i < text.size();
        result.push_back(next.score(inside ? text[first + i] : next.most_probable(), alternatives));
      }
    }
    return result;
  }

  std::shared_ptr<ServedStore> store_;
  int64_t vocabulary_ = 0;
  size_t longest_ = 0;  // window
  TokenIds prompt_;
  std::vector<TokenIds> texts_;
  std::vector<std::vector<float>> logits_;  // of each text
};

}  // namespace

std::unique_ptr<Decoder> decoder_of(std::shared_ptr<ServedStore> store) {
  return std::make_unique<StoreDecoder>(std::move(store));
}

}  // namespace tessera::serve
