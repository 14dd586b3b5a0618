#include "program/serve/decoder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/program/serve/tiny_service.h"

namespace tessera::serve {
namespace {

std::vector<float> logits_of(Decoder& decoder, size_t row) {
  const auto logits = decoder.logits(row);
  return {logits.begin(), logits.end()};
}

void add(Decoder& decoder, const TokenIds& prompt) {
  const auto reading = decoder.read(prompt);
  while (!reading->advance(1)) {
  }
  decoder.add(*reading);
}

TEST(Decoder, OfManyTextsEachHasTheBitsThatItHasAlone) {
  const auto model = std::make_shared<MemoryMosaic>(
      MemoryMosaicConfig{.vocabulary = 257, .window = 16, .layers = 2, .heads = 2, .channels = 96});
  model->initialise(7);
  const EngineOptions options;
  const auto together = decoder_of(model, options.memory);
  std::vector<std::unique_ptr<Decoder>> alone;
  const auto begin = [&](int64_t token) {
    const TokenIds prompt = {token, 2 * token + 1, 7};
    add(*together, prompt);
    add(*alone.emplace_back(decoder_of(model, options.memory)), prompt);
  };
  for (int64_t token = 0; token < 40; ++token) begin(token);
  for (int64_t step = 0; step < 6; ++step) {
    TokenIds drawn;
    std::vector<int64_t> kept;
    std::vector<std::unique_ptr<Decoder>> going_on;
    for (size_t row = 0; row < alone.size(); ++row) {
      ASSERT_EQ(logits_of(*together, row), logits_of(*alone[row], 0)) << step << " " << row;
      ASSERT_EQ(together->tokens(row), alone[row]->tokens(0));
      if (row % 4 == 1) continue;  // ends
      kept.push_back(row);
      drawn.push_back((31 * step + row) % 257);
      alone[row]->step({0}, {drawn.back()});
      going_on.push_back(std::move(alone[row]));
    }
    together->step(kept, drawn);
    alone = std::move(going_on);
    begin(50 + step);
  }
  together->step({}, {});
  begin(1);
  EXPECT_EQ(logits_of(*together, 0), logits_of(*alone.back(), 0));
}

}  // namespace
}  // namespace tessera::serve
