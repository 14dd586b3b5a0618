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

}  // namespace
}  // namespace tessera
