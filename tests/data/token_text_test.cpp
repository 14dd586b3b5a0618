#include "tessera/data/token_text.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(TokenText, IsTheTextOrTheBytesOrTheId) {
  const Tokenizer tokenizer = Tokenizer::bytes(EndOfText::kPresent);
  EXPECT_EQ(bytes_of(tokenizer, 'a'), "a");
  EXPECT_EQ(bytes_of(tokenizer, 0xE2), "\xE2");
  EXPECT_EQ(bytes_of(tokenizer, 1000), "");
  EXPECT_EQ(shown_token(tokenizer, 'a'), "a");
  EXPECT_EQ(shown_token(tokenizer, 0xE2), "bytes:\\xe2");
  EXPECT_EQ(shown_token(tokenizer, 256), "<|endoftext|>");
  EXPECT_EQ(shown_token(tokenizer, 1000), "token:1000");
}

}  // namespace
}  // namespace tessera
