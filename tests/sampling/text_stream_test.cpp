#include "tessera/sampling/text_writer.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"

namespace tessera {
namespace {

/// The text of `pieces`, with a bar between what comes of each and of the end.
std::string streamed(const std::vector<std::string>& pieces, std::vector<std::string> stop = {}) {
  TextStream stream(std::move(stop));
  std::string result;
  for (const auto& piece : pieces) result += stream.push(piece) + "|";
  return result + stream.finish();
}

TEST(TextStream, TextComesAtOnce) {
  EXPECT_EQ(streamed({"ab", "", "c"}), "ab||c|");
  EXPECT_EQ(streamed({}), "");
}

TEST(TextStream, ACharacterIsHeldBackUntilItIsWhole) {
  EXPECT_EQ(streamed({"a\xC3", "\xA9"}), "a|é|");
  EXPECT_EQ(streamed({"\xF0", "\x9F", "\xA7", "\xA9!"}), "|||🧩!|");
}

TEST(TextStream, BytesThatAreNoTextBecomeReplacementCharacters) {
  EXPECT_EQ(streamed({"a\x80z"}), "a\uFFFDz|");
  EXPECT_EQ(streamed({"\xC3", "z"}), "|\uFFFDz|");               // a character that breaks off
  EXPECT_EQ(streamed({"\xF0\x9F", "z"}), "|\uFFFDz|");           // one for its two bytes
  EXPECT_EQ(streamed({"\xED\xA0\x80"}), "\uFFFD\uFFFD\uFFFD|");  // a surrogate
  EXPECT_EQ(streamed({"\xC0\xAF"}), "\uFFFD\uFFFD|");            // overlong
  EXPECT_EQ(streamed({"\xE0\x80"}), "\uFFFD\uFFFD|");
  EXPECT_EQ(streamed({"\xF4\x90"}), "\uFFFD\uFFFD|");  // past U+10FFFF
  EXPECT_EQ(streamed({"a\xE2\x82"}), "a|\uFFFD");      // the end comes too early
}

TEST(TextStream, EndsBeforeAStopString) {
  EXPECT_EQ(streamed({"one STOP two", "three"}, {"STOP"}), "one ||");
  EXPECT_EQ(streamed({"one S", "TO", "P two"}, {"STOP"}), "one |||");
  EXPECT_EQ(streamed({"STOP"}, {"STOP"}), "|");
}

TEST(TextStream, HoldsBackWhatMayBecomeAStopString) {
  EXPECT_EQ(streamed({"S", "T", "U"}, {"STOP"}), "||STU|");
  EXPECT_EQ(streamed({"aab", "a", "c"}, {"aac"}), "aab||ac|");
  EXPECT_EQ(streamed({"STO"}, {"STOP"}), "|STO");
  EXPECT_EQ(streamed({"aaaa", "b"}, {"aab"}), "aa||");
}

TEST(TextStream, TheStopStringThatIsCompleteFirstCounts) {
  EXPECT_EQ(streamed({"xabcd"}, {"abcd", "bc"}), "xa|");
  EXPECT_EQ(streamed({"xabc"}, {"bc", "abc"}), "x|");  // complete together: the longer one
}

TEST(TextStream, StopStringsAreBytesAndMayCutACharacter) {
  EXPECT_EQ(streamed({"a\xC3\xA9"}, {"\xA9"}), "a\uFFFD|");
  EXPECT_EQ(streamed({"aé\xC3", "\xA9"}, {"éé"}), "a||");
}

TEST(TextStream, TheSplitIntoTokensMakesNoDifference) {
  const std::string text = "né\n\nUs\xE2\x82 x\n\nUser: y🧩";
  const std::vector<std::string> stop = {"\n\nUser:", "ser", "\n\n\n"};
  const auto whole = [&](const std::vector<std::string>& pieces) {
    TextStream stream(stop);
    std::string result;
    for (const auto& piece : pieces) result += stream.push(piece);
    EXPECT_TRUE(stream.stopped());
    return result + stream.finish();
  };
  const std::string expected = whole({text});
  EXPECT_EQ(expected, "né\n\nUs\uFFFD x\n\nU");
  for (size_t a = 0; a <= text.size(); ++a)
    for (size_t b = a; b <= text.size(); ++b)
      ASSERT_EQ(whole({text.substr(0, a), text.substr(a, b - a), text.substr(b)}), expected);
}

TEST(TextStream, AnEmptyStopStringIsRefused) {
  EXPECT_THROW(TextStream({"a", ""}), UsageError);
}

}  // namespace
}  // namespace tessera
