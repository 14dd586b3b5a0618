#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "program/serve/decoder.h"
#include "program/serve/memory_budget.h"
#include "tessera/infer/scoring.h"
#include "tessera/infer/streaming_session.h"
#include "tessera/model/language_model.h"
#include "tessera/ops/linear.h"

namespace tessera::serve {
namespace {

class ModelPrompt : public PromptReading {
 public:
  /// session: has read the first `read` tokens of the prompt.
  ModelPrompt(StreamingSession session, size_t read, TokenIds prompt)
      : session_(std::move(session)), prompt_(std::move(prompt)), read_(read) {}

  bool advance(int64_t tokens) override {
    const size_t count = std::min<size_t>(tokens, prompt_.size() - read_);
    const Tokens part(prompt_.begin() + read_, prompt_.begin() + read_ + count);
    if (count > 0) session_.read({part});
    read_ += count;
    return read_ == prompt_.size();
  }

  const TokenIds& tokens() const { return prompt_; }
  StreamingSession& session() { return session_; }

 private:
  StreamingSession session_;
  TokenIds prompt_;
  size_t read_;  // tokens of it
};

class ModelScoring : public ScoreReading {
 public:
  ModelScoring(LanguageModel& model, const std::vector<TokenIds>& texts, int64_t alternatives)
      : scorer_(model, texts, {alternatives, {}, /*predict_next=*/true}) {}

  bool advance(int64_t tokens) override { return scorer_.advance(tokens); }
  std::vector<std::vector<ScoredToken>> scores() override { return std::move(scorer_).scores(); }

 private:
  TextScorer scorer_;
};

class ModelDecoder : public Decoder {
 public:
  ModelDecoder(std::shared_ptr<LanguageModel> model, std::shared_ptr<MemoryBudget> memory)
      : model_(std::move(model)),
        reading_(natural_reading(*model_)),
        first_bytes_(state_bytes(*model_, 1)),
        token_bytes_(state_bytes(*model_, 2) - first_bytes_),
        memory_(std::move(memory)) {}
  ~ModelDecoder() override { memory_->drop(this); }
  ModelDecoder(const ModelDecoder&) = delete;
  ModelDecoder& operator=(const ModelDecoder&) = delete;

  int64_t vocabulary() const override { return model_->vocabulary(); }

  std::optional<int64_t> longest_text() const override {
    if (reading_ == Reading::kStreaming) return std::nullopt;
    return model_->window();
  }

  /// The room for stored pairs doubles when it is full, so that half of it may be empty.
  double bytes(int64_t tokens) const override {
    return 2 * (first_bytes_ + token_bytes_ * static_cast<double>(std::max<int64_t>(tokens, 64))) +
           static_cast<double>(sizeof(float)) * static_cast<double>(vocabulary());
  }

  std::unique_ptr<PromptReading> read(TokenIds prompt) override {
    auto known = memory_->longest_prefix(this, prompt);
    if (!known) known.emplace(StreamingSession(*model_, reading_), 0);
    return std::make_unique<ModelPrompt>(std::any_cast<StreamingSession&&>(std::move(known->first)),
                                         known->second, std::move(prompt));
  }
  std::unique_ptr<ScoreReading> score(std::vector<TokenIds> texts, int64_t alternatives) override {
    return std::make_unique<ModelScoring>(*model_, texts, alternatives);
  }

  void add(PromptReading& prompt) override {
    auto& read = static_cast<ModelPrompt&>(prompt);
    memory_->keep(this, read.tokens(), read.session(), bytes(std::ssize(read.tokens())));
    at::Tensor logits = floats(read.session().logits());
    if (groups_.empty() || groups_.back().size() == kFewRows) {
      groups_.push_back({std::move(read.session()), std::move(logits)});
      return;
    }
    Group& group = groups_.back();
    logits = at::cat({group.logits, logits});  // before the texts change: there may be no memory
    group.texts.append(std::move(read.session()));
    group.logits = std::move(logits);
  }

  const TokenIds& tokens(size_t row) const override {
    const auto [group, place] = place_of(row);
    return groups_[group].texts.tokens()[place];
  }
  std::span<const float> logits(size_t row) override {
    const auto [group, place] = place_of(row);
    const size_t V = vocabulary();
    return {groups_[group].logits.data_ptr<float>() + place * V, V};
  }

  void step(const std::vector<int64_t>& rows, const TokenIds& drawn) override {
    std::vector<TokenIds> tokens;  // of each group that goes on
    std::vector<Group> going_on;
    size_t first = 0, next = 0;
    for (Group& group : groups_) {
      const size_t end = first + group.size();
      std::vector<int64_t> kept;
      TokenIds more;
      for (; next < rows.size() && rows[next] < static_cast<int64_t>(end); ++next) {
        kept.push_back(rows[next] - static_cast<int64_t>(first));
        more.push_back(drawn[next]);
      }
      first = end;
      if (kept.empty()) continue;
      group.texts.select(kept);
      if (!tokens.empty() && tokens.back().size() + kept.size() <= kFewRows) {
        going_on.back().texts.append(std::move(group.texts));
        tokens.back().insert(tokens.back().end(), more.begin(), more.end());
      } else {
        going_on.push_back(std::move(group));
        tokens.push_back(std::move(more));
      }
    }
    groups_ = std::move(going_on);
    for (size_t i = 0; i < groups_.size(); ++i) {
      groups_[i].texts.step(tokens[i]);
      groups_[i].logits = floats(groups_[i].texts.logits());
    }
  }
  void clear() noexcept override { groups_.clear(); }

 private:
  static constexpr size_t kFewRows = ops::kFewRows;

  /// Texts that are read side by side, so few that each is written as it would be alone.
  struct Group {
    StreamingSession texts;
    at::Tensor logits;  // [rows, V]

    size_t size() const { return texts.tokens().size(); }
  };

  static at::Tensor floats(const at::Tensor& logits) { return logits.to(at::kFloat).contiguous(); }

  /// The group of a row, and its place there.
  std::pair<size_t, size_t> place_of(size_t row) const {
    size_t group = 0;
    for (; row >= groups_.at(group).size(); ++group) row -= groups_[group].size();
    return {group, row};
  }

  std::shared_ptr<LanguageModel> model_;
  Reading reading_;
  double first_bytes_, token_bytes_;  // of a state after one token, and with each one more
  std::shared_ptr<MemoryBudget> memory_;
  std::vector<Group> groups_;  // one after the other they are the rows
};

}  // namespace

std::unique_ptr<Decoder> decoder_of(std::shared_ptr<LanguageModel> model,
                                    std::shared_ptr<MemoryBudget> memory) {
  return std::make_unique<ModelDecoder>(std::move(model), std::move(memory));
}

}  // namespace tessera::serve
