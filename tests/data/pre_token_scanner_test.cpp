#include "tessera/data/pre_token_scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/data/utf8.h"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> words_of(std::string_view text) {
  PreTokenScanner scanner;
  scanner.start(text);
  std::vector<std::string> words;
  for (auto word = scanner.next(); !word.empty(); word = scanner.next()) words.emplace_back(word);
  return words;
}

TEST(PreTokenScanner, CutsAsGpt2Does) {
  EXPECT_THAT(words_of(""), IsEmpty());
  EXPECT_THAT(words_of("it's we'll x'S"), ElementsAre("it", "'s", " we", "'ll", " x", "'", "S"));
  EXPECT_THAT(words_of("a1 23b?!  c\n\n d "),
              ElementsAre("a", "1", " 23", "b", "?!", " ", " c", "\n\n", " d", " "));
  EXPECT_THAT(words_of(" naïve x²"), ElementsAre(" naïve", " x", "²"));
}

// U+00A0 and U+0085 are white space, U+180E and U+FEFF are not.
TEST(PreTokenScanner, WhiteSpaceIsUnicodes) {
  EXPECT_THAT(words_of("a\u00A0\u0085"), ElementsAre("a", "\u00A0\u0085"));
  EXPECT_THAT(words_of("a\u180E!\uFEFF"), ElementsAre("a", "\u180E!\uFEFF"));
}

TEST(PreTokenScanner, InvalidBytesStandAlone) {
  EXPECT_THAT(words_of("ab\xFF\xFE"
                       "cd  \xC3 x\xE2\x82"),
              ElementsAre("ab", "\xFF\xFE", "cd", "  ", "\xC3", " x", "\xE2\x82"));
}

TEST(Utf8, ValidPrefixStopsAtTheFirstInvalidByte) {
  EXPECT_EQ(utf8::valid_prefix(""), 0u);
  EXPECT_EQ(utf8::valid_prefix("aé€👍"), 10u);
  EXPECT_EQ(utf8::valid_prefix("abcdefgh\xC0\x80"), 8u);  // overlong
  EXPECT_EQ(utf8::valid_prefix("\xED\xA0\x80"), 0u);      // a surrogate
  EXPECT_EQ(utf8::valid_prefix("\xF4\x90\x80\x80"), 0u);  // above U+10FFFF
  EXPECT_EQ(utf8::valid_prefix("a\xE2\x82"), 1u);         // cut short
  EXPECT_EQ(utf8::valid_prefix("\xE0\x9F\xBF"), 0u);      // overlong
}

TEST(Utf8, EveryCodePointComesBack) {
  for (char32_t c = 0; c < 0x110000; c += c < 0x3000 ? 1 : 0x101) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    utf8::append(text, c);
    ASSERT_EQ(utf8::valid_prefix(text), text.size());
    std::string_view rest = text;
    ASSERT_EQ(utf8::take(rest), c);
    ASSERT_TRUE(rest.empty());
  }
}

}  // namespace
}  // namespace tessera
