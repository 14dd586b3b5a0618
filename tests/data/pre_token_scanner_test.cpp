#include "tessera/data/detail/pre_token_scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> words_of(std::string_view text,
                                  const PreTokenPattern& pattern = PreTokenPattern::gpt2()) {
  PreTokenScanner scanner;
  scanner.start(text, pattern);
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

/// Of Llama 3's tokenizer.json.
const PreTokenPattern& llama3() {
  static const PreTokenPattern pattern(
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
      R"(|\s*[\r\n]+|\s+(?!\S)|\s+)");
  return pattern;
}

TEST(PreTokenPattern, CutsAsLlama3Does) {
  EXPECT_THAT(
      words_of("it's we'LL 12345 foo\n\n  bar!\n", llama3()),
      ElementsAre("it", "'s", " we", "'LL", " ", "123", "45", " foo", "\n\n", " ", " bar", "!\n"));
  EXPECT_THAT(words_of("(a) .b\r\n\tnaïve x²", llama3()),
              ElementsAre("(a", ")", " .", "b", "\r\n", "\tnaïve", " x", "²"));
  EXPECT_THAT(words_of("a\xFF b", llama3()), ElementsAre("a", "\xFF", " b"));
}

// The pattern of GPT-4o tells upper from lower case.
TEST(PreTokenPattern, CutsAsGpt4oDoes) {
  const PreTokenPattern pattern(
      R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
      R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
      R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)");
  EXPECT_THAT(words_of("camelCase isn't HTTPServer 2024//\n", pattern),
              ElementsAre("camel", "Case", " isn't", " HTTPServer", " ", "202", "4", "//\n"));
}

TEST(PreTokenPattern, TextBetweenMatchesIsAPreToken) {
  const PreTokenPattern digits(R"(\d+)");
  EXPECT_THAT(words_of("ab12c3", digits), ElementsAre("ab", "12", "c", "3"));
  EXPECT_THAT(words_of("abc", digits), ElementsAre("abc"));
  EXPECT_THAT(words_of("", digits), IsEmpty());
}

TEST(PreTokenPattern, WhiteSpaceIsUnicodesInClassesToo) {
  const PreTokenPattern words(R"([^\s,]+|[\s,])");
  EXPECT_THAT(words_of("a\u0085b\u180E", words), ElementsAre("a", "\u0085", "b\u180E"));
  EXPECT_THAT(words_of("a\u0085 b", PreTokenPattern(R"([\S]+|\s+)")),
              ElementsAre("a", "\u0085 ", "b"));
}

TEST(PreTokenPattern, RefusesWhatOtherLibrariesReadOtherwise) {
  const auto refusal = [](const char* regex) {
    return test::message_of<UsageError>([&] { PreTokenPattern pattern(regex); });
  };
  for (const auto& [regex, named] :
       std::vector<std::pair<const char*, const char*>>{{R"(\w+)", R"('\w')"},
                                                        {R"(a\b)", R"('\b')"},
                                                        {R"((a)\1)", R"('\1')"},
                                                        {R"(\p{Han}+)", R"('\p{Han}')"},
                                                        {R"(\p{^L})", R"('\p{^L}')"},
                                                        {R"(\pL)", R"('\p')"},
                                                        {"^a", "'^'"},
                                                        {"a$", "'$'"},
                                                        {"[a&&b]", "'&&'"},
                                                        {"[[:alpha:]]", "'['"},
                                                        {"[]a]", "']'"},
                                                        {"a{,2}", "'{'"},
                                                        {"a{2}+", "'+'"},
                                                        {"a{2}?", "'?'"},
                                                        {"(?P<n>a)", "'(?P'"},
                                                        {"(?R)", "'(?R'"},
                                                        {"(*UTF)a", "'(*'"},
                                                        {"a{", "'{'"},
                                                        {R"(\u0041)", R"('\u')"},
                                                        {"a\\", "'\\'"}})
    EXPECT_EQ(refusal(regex), std::string(named) + " is not supported") << regex;
  EXPECT_EQ(refusal("a*"), "it can match the empty text");
  EXPECT_EQ(refusal("(a"), "missing closing parenthesis");
}

// A pattern that needs exponential time ends with a message.
TEST(PreTokenPattern, HasALimit) {
  const PreTokenPattern slow("(a+)+[bc]");
  EXPECT_THROW(words_of(std::string(60, 'a'), slow), std::runtime_error);
}

}  // namespace
}  // namespace tessera
