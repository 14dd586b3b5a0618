#pragma once

#include <memory>
#include <vector>

#include "program/serve/decoder.h"

namespace tessera::serve {

/// Writes texts of token 1 that take a byte a token.
class PlainDecoder : public Decoder {
 public:
  int64_t vocabulary() const override { return 2; }
  double bytes(int64_t tokens) const override { return static_cast<double>(tokens); }
  std::unique_ptr<PromptReading> read(TokenIds) override { return std::make_unique<Prompt>(); }
  std::unique_ptr<ScoreReading> score(std::vector<TokenIds>, int64_t) override { return nullptr; }
  void add(PromptReading&) override { ++rows_; }
  size_t rows() const override { return rows_; }
  const TokenIds& tokens(size_t) const override { return text_; }
  std::span<const float> logits(size_t) override { return logits_; }
  void step(const std::vector<int64_t>& rows, const TokenIds&) override { rows_ = rows.size(); }
  void clear() noexcept override { rows_ = 0; }

 private:
  class Prompt : public PromptReading {
    bool advance(int64_t) override { return true; }
  };
  std::vector<float> logits_ = {0, 1};
  TokenIds text_ = {1};
  size_t rows_ = 0;
};

}  // namespace tessera::serve
