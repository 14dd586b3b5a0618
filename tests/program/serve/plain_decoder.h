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
  void add(PromptReading&) override {}
  const TokenIds& tokens(size_t) const override { return text_; }
  std::span<const float> logits(size_t) override { return logits_; }
  void step(const std::vector<int64_t>&, const TokenIds&) override {}
  void clear() noexcept override {}

 private:
  class Prompt : public PromptReading {
    bool advance(int64_t) override { return true; }
  };
  std::vector<float> logits_ = {0, 1};
  TokenIds text_ = {1};
};

}  // namespace tessera::serve
