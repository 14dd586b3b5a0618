#include "tessera/serve/model_decoder.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "tessera/infer/scoring.h"
#include "tessera/infer/state_bytes.h"
#include "tessera/infer/streaming_session.h"
#include "tessera/model/language_model.h"
#include "tessera/serve/prefix_cache.h"

namespace tessera::serve {
namespace {

constexpr size_t kPieceTokens = 256;  // of a prompt, between two tokens of the other texts

class ModelDecoder : public Decoder {
 public:
  ModelDecoder(std::shared_ptr<LanguageModel> model, double cache_bytes)
      : model_(std::move(model)),
        reading_(natural_reading(*model_)),
        first_bytes_(state_bytes(*model_, 1)),
        token_bytes_(state_bytes(*model_, 2) - first_bytes_),
        cache_(cache_bytes),
        texts_(*model_, reading_) {}

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

  void begin(TokenIds prompt) override {
    prompt_ = std::move(prompt);
    read_ = 0;
    if (auto known = cache_.longest_prefix(prompt_)) {
      prompt_session_.emplace(std::move(known->first));
      read_ = known->second;
    } else {
      prompt_session_.emplace(*model_, reading_);
    }
  }

  bool read_piece() override {
    const size_t count = std::min(kPieceTokens, prompt_.size() - read_);
    const Tokens piece(prompt_.begin() + read_, prompt_.begin() + read_ + count);
    try {
      if (read_ == 0)
        prompt_session_->add({piece});
      else if (count > 0)
        prompt_session_->read({piece});
    } catch (...) {
      drop_prompt();
      throw;
    }
    read_ += count;
    if (read_ < prompt_.size()) return false;
    cache_.keep(prompt_, *prompt_session_, bytes(std::ssize(prompt_)));
    texts_.append(std::move(*prompt_session_));
    drop_prompt();
    take_logits();
    return true;
  }

  void drop_prompt() override { prompt_session_.reset(); }

  size_t rows() const override { return texts_.tokens().size(); }
  const TokenIds& tokens(size_t row) const override { return texts_.tokens().at(row); }
  std::span<const float> logits(size_t row) override {
    const auto V = static_cast<size_t>(vocabulary());
    return {logits_.data_ptr<float>() + row * V, V};
  }

  void step(const std::vector<int64_t>& rows, const TokenIds& drawn) override {
    texts_.select(rows);
    if (!rows.empty()) texts_.step(drawn);
    if (!rows.empty()) take_logits();
  }

  std::vector<std::vector<ScoredToken>> score(const std::vector<TokenIds>& texts,
                                              int64_t alternatives) override {
    ScoringOptions options;
    options.alternatives = alternatives;
    options.predict_next = true;
    return score_texts(*model_, texts, options);
  }

 private:
  void take_logits() { logits_ = texts_.logits().to(at::kFloat).contiguous(); }

  std::shared_ptr<LanguageModel> model_;
  Reading reading_;
  double first_bytes_, token_bytes_;  // of a state after one token, and with each one more
  PrefixCache<StreamingSession> cache_;
  StreamingSession texts_;
  at::Tensor logits_;  // [rows, V]
  TokenIds prompt_;    // being read
  size_t read_ = 0;    // tokens of it
  std::optional<StreamingSession> prompt_session_;
};

}  // namespace

std::unique_ptr<Decoder> decoder_of(std::shared_ptr<LanguageModel> model, double cache_bytes) {
  return std::make_unique<ModelDecoder>(std::move(model), cache_bytes);
}

}  // namespace tessera::serve
