#include <algorithm>

#include "program/serve/decoder.h"
#include "program/serve/served_store.h"

namespace tessera::serve {
namespace {

constexpr size_t kScoredContexts = 64;  // at once, between two looks at other readers

class StorePrompt : public PromptReading {
 public:
  explicit StorePrompt(TokenIds prompt) : tokens(std::move(prompt)) {}
  bool advance(int64_t) override { return true; }  // its last tokens are all that counts

  TokenIds tokens;
};

/// What the store, as it is at the moment, predicts.
std::vector<store::Prediction> predicted(ServedStore& store,
                                         const std::vector<std::span<const int64_t>>& texts) {
  std::vector<store::Prediction> predictions;
  if (texts.empty()) return predictions;
  store.read([&](const ServedStore::Snapshot& snapshot) {
    predictions = snapshot.reader().predict(texts);
  });
  return predictions;
}

class StoreScoring : public ScoreReading {
 public:
  StoreScoring(ServedStore& store, std::vector<TokenIds> texts, int64_t alternatives)
      : store_(store),
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
    std::vector<std::span<const int64_t>> contexts;
    for (size_t end = first; end <= last; ++end) contexts.push_back(std::span(text).first(end));
    for (const store::Prediction& prediction : predicted(store_, contexts)) {
      const TokenDistribution next(prediction.logits);
      const bool inside = scores.size() < text.size();
      scores.push_back(
          next.score(inside ? text[scores.size()] : next.most_probable(), alternatives_));
    }
    if (last == text.size()) ++next_;
  }

  ServedStore& store_;
  std::vector<TokenIds> texts_;
  int64_t alternatives_;
  std::vector<std::vector<ScoredToken>> scores_;
  size_t next_ = 0;  // text
};

class StoreDecoder : public Decoder {
 public:
  explicit StoreDecoder(std::shared_ptr<ServedStore> store) : store_(std::move(store)) {
    store_->read([this](const ServedStore::Snapshot& snapshot) {
      vocabulary_ = snapshot.store.config().memory.vocabulary;
    });
  }

  int64_t vocabulary() const override { return vocabulary_; }
  double bytes(int64_t tokens) const override {
    return static_cast<double>(sizeof(int64_t)) * static_cast<double>(tokens) +
           static_cast<double>(sizeof(float)) * static_cast<double>(vocabulary());
  }

  std::unique_ptr<PromptReading> read(TokenIds prompt) override {
    store_->read([&](const ServedStore::Snapshot& snapshot) {
      store::check_prompt(snapshot.store, prompt.size());
    });
    return std::make_unique<StorePrompt>(std::move(prompt));
  }
  std::unique_ptr<ScoreReading> score(std::vector<TokenIds> texts, int64_t alternatives) override {
    return std::make_unique<StoreScoring>(*store_, std::move(texts), alternatives);
  }

  void add(PromptReading& prompt) override {
    Row row;
    row.text = std::move(static_cast<StorePrompt&>(prompt).tokens);
    store_->read([&](const ServedStore::Snapshot& snapshot) {
      row.continues =
          snapshot.reader().continues(std::vector<int32_t>(row.text.begin(), row.text.end()));
    });
    predict({&row, 1});
    rows_.push_back(std::move(row));
  }

  const TokenIds& tokens(size_t row) const override { return rows_.at(row).text; }
  bool goes_on(size_t row) const override {
    const auto& [text, continues, next] = rows_.at(row);
    return continues && store::goes_on(next.best, /*begun=*/true);
  }
  std::span<const float> logits(size_t row) override { return rows_.at(row).next.logits; }

  void step(const std::vector<int64_t>& rows, const TokenIds& drawn) override {
    std::vector<Row> longer;
    for (size_t i = 0; i < rows.size(); ++i) {
      longer.push_back(std::move(rows_.at(rows[i])));
      longer.back().text.push_back(drawn[i]);
    }
    rows_ = std::move(longer);
    predict(rows_);
  }
  void clear() noexcept override { rows_.clear(); }

 private:
  struct Row {
    TokenIds text;
    bool continues = false;  // the store, its prompt
    store::Prediction next;
  };

  void predict(std::span<Row> rows) const {
    std::vector<std::span<const int64_t>> texts;
    for (const Row& row : rows) texts.emplace_back(row.text);
    std::vector<store::Prediction> predictions = predicted(*store_, texts);
    for (size_t i = 0; i < rows.size(); ++i) rows[i].next = std::move(predictions[i]);
  }

  std::shared_ptr<ServedStore> store_;
  int64_t vocabulary_ = 0;
  std::vector<Row> rows_;
};

}  // namespace

std::unique_ptr<Decoder> decoder_of(std::shared_ptr<ServedStore> store) {
  return std::make_unique<StoreDecoder>(std::move(store));
}

}  // namespace tessera::serve
