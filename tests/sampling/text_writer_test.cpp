#include "tessera/sampling/text_writer.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"

namespace tessera {
namespace {

const std::vector<float> kThreeLogits = {0.0f, 2.0f, 1.0f};

/// Token n is the letter n.
WritingOptions letters(int64_t max_tokens) {
  WritingOptions options;
  options.max_tokens = max_tokens;
  options.token_bytes = [](int64_t token) {
    return std::string(1, static_cast<char>('a' + token));
  };
  return options;
}

ScoredToken token(int64_t id) {
  return {.token = id, .log_probability = -1.0, .alternatives = {}};
}

TEST(TextWriter, DrawsAsDrawTokenDoes) {
  WritingOptions options = letters(100);
  options.sampling.seed = 5;
  options.sampling.presence_penalty = 1.5;  // not of the prompt
  std::vector<int64_t> context = {1, 1, 0};
  TextWriter writer(options, 7, context.size());
  for (int i = 0; i < 20; ++i) {
    const auto expected = draw_token(kThreeLogits, context, options.sampling, 7, 3);
    const Written written = writer.draw(kThreeLogits, context);
    EXPECT_EQ(written.token->token, expected.token);
    EXPECT_EQ(written.token->log_probability, expected.log_probability);
    EXPECT_EQ(written.text, options.token_bytes(expected.token));
    EXPECT_FALSE(written.finish);
    context.push_back(expected.token);
  }
}

TEST(TextWriter, EndsWithTheLastToken) {
  const WritingOptions options = letters(2);
  TextWriter writer(options, 0, 1);
  EXPECT_FALSE(writer.add(token(0)).finish);
  const Written last = writer.add(token(1));
  EXPECT_EQ(last.text, "b");
  EXPECT_EQ(last.finish, Finish::kMaxTokens);
}

TEST(TextWriter, EndsBeforeAStopString) {
  WritingOptions options = letters(3);
  options.stop = {"bc"};
  TextWriter writer(options, 0, 1);
  EXPECT_EQ(writer.add(token(0)).text, "a");
  EXPECT_EQ(writer.add(token(1)).text, "") << "it may begin the stop string";
  const Written last = writer.add(token(2));
  EXPECT_EQ(last.text, "");
  EXPECT_EQ(last.finish, Finish::kStopString) << "which counts before the number of tokens";
}

TEST(TextWriter, TheEndOfTextIsNoTextAndLetsGoOfWhatWasHeldBack) {
  WritingOptions options = letters(2);
  options.stop = {"bc"};
  options.end_of_text = 2;
  TextWriter writer(options, 0, 1);
  EXPECT_EQ(writer.add(token(1)).text, "");
  const Written last = writer.add(token(2));
  EXPECT_EQ(last.token->token, 2);
  EXPECT_EQ(last.text, "b");
  EXPECT_EQ(last.finish, Finish::kEndOfText);
}

TEST(TextWriter, EndsWithoutAnotherToken) {
  WritingOptions options = letters(9);
  options.stop = {"bc"};
  TextWriter writer(options, 0, 1);
  writer.add(token(1));
  const Written end = writer.end(Finish::kInterrupted);
  EXPECT_FALSE(end.token);
  EXPECT_EQ(end.text, "b");
  EXPECT_EQ(end.finish, Finish::kInterrupted);
}

TEST(TextWriter, WithoutBytesThereIsNoText) {
  WritingOptions options;
  options.max_tokens = 1;
  const Written written = TextWriter(options, 0, 1).add(token(1));
  EXPECT_EQ(written.text, "");
  EXPECT_EQ(written.finish, Finish::kMaxTokens);
}

TEST(TextWriter, RefusesBadOptions) {
  const auto refused = [](auto change) {
    WritingOptions options = letters(3);
    options.check();
    change(options);
    EXPECT_THROW(options.check(), UsageError);
  };
  refused([](auto& options) { options.max_tokens = -1; });
  refused([](auto& options) { options.sampling.top_p = 2; });
  refused([](auto& options) { options.stop = {""}; });
  refused([](auto& options) { options.stop = {"x"}, options.token_bytes = {}; });
  WritingOptions options = letters(3);
  EXPECT_THROW(TextWriter(options, 0, 4).draw(kThreeLogits, std::vector<int64_t>{1}), UsageError)
      << "a prompt longer than the context";
}

/// The text of `pieces`, with a bar between what comes of each and of the end.
std::string streamed(const std::vector<std::string>& pieces,
                     const std::vector<std::string>& stop = {}) {
  TextStream stream(stop);
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

/// Comparing all that is held back with the stop string at every byte would take minutes.
TEST(TextStream, ALongStopStringThatNearlyComesTakesNoLongerThanItsBytes) {
  const std::string letters(200000, 'a');
  TextStream stream({letters + "b"});
  for (const char letter : letters) ASSERT_EQ(stream.push({&letter, 1}), "");
  EXPECT_EQ(stream.push("aa"), "aa");
  EXPECT_EQ(stream.push("b"), "");
  EXPECT_TRUE(stream.stopped());
}

TEST(TextStream, AnEmptyStopStringIsRefused) {
  EXPECT_THROW(TextStream({"a", ""}), UsageError);
}

}  // namespace
}  // namespace tessera
