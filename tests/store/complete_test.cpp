#include "tessera/store/recall.h"

#include <csignal>
#include <set>

#include "tessera/base/interrupt.h"
#include "tessera/store/question.h"
#include "tests/store/small_stores.h"

namespace tessera::store {
namespace {

struct Completed {
  std::string text;
  std::vector<int64_t> tokens;
  Finish finish;
};

class CompleteTest : public StoreTest {
 protected:
  CompleteTest() { memorize(store(), "one", "The raven sat above the door."); }

  Completed completed(const std::string& prompt, const WritingOptions& options) const {
    const MemoStore opened(store());
    Completed all = {};
    all.finish = complete(opened, read_question(opened, prompt), options, [&](const Written& news) {
      all.text += news.text;
      if (news.token) all.tokens.push_back(news.token->token);
    });
    return all;
  }
};

WritingOptions greedy(int64_t tokens) {
  WritingOptions options{.max_tokens = tokens};
  options.sampling.temperature = 0;
  return options;
}

TEST_F(CompleteTest, GoesOnToTheEndOfTheDocument) {
  const Completed all = completed("The raven", greedy(100));
  EXPECT_EQ(all.text, " sat above the door.");
  EXPECT_EQ(all.finish, Finish::kEndOfText);
  EXPECT_EQ(all.tokens.size(), 21u) << "with the end of text";
}

TEST_F(CompleteTest, StopsWhereItIsTold) {
  EXPECT_EQ(completed("The raven", greedy(4)).text, " sat");
  EXPECT_EQ(completed("The raven", greedy(4)).finish, Finish::kMaxTokens);
  EXPECT_TRUE(completed("The raven", greedy(0)).tokens.empty());
  WritingOptions stops = greedy(100);
  stops.stop = {"above"};
  EXPECT_EQ(completed("The raven", stops).text, " sat ");
  EXPECT_EQ(completed("The raven", stops).finish, Finish::kStopString);
}

TEST_F(CompleteTest, DrawsByProbability) {
  memorize(store(), "two", "The raven left.");
  std::set<char> first;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    WritingOptions options{.max_tokens = 2};
    options.sampling.temperature = 8;  // in so small a matrix noise makes one much more probable
    options.sampling.seed = seed;
    const Completed all = completed("The raven", options);
    EXPECT_EQ(all.text, completed("The raven", options).text) << "the same seed";
    if (all.text.size() == 2) first.insert(all.text[1]);
  }
  EXPECT_THAT(first, ::testing::IsSupersetOf({'s', 'l'}));
}

TEST_F(CompleteTest, AbstainsWhereNothingIsStored) {
  const Completed none = completed("Quoth Lucy", greedy(20));
  EXPECT_EQ(none.text, "");
  EXPECT_EQ(none.finish, Finish::kNotStored);
  WritingOptions wild{.max_tokens = 100};
  wild.sampling.logit_bias = {{'x', 1e6}};  // leads away from what is stored
  const Completed away = completed("The raven", wild);
  EXPECT_EQ(away.finish, Finish::kNotStored);
  EXPECT_EQ(away.text, std::string(away.tokens.size(), 'x'));
  EXPECT_LT(away.tokens.size(), 9u) << "after a window of them nothing is stored";
}

TEST_F(CompleteTest, ASignalEndsBetweenTokens) {
  const InterruptGuard guard;
  const MemoStore opened(store());
  int64_t tokens = 0;
  const Finish finish =
      complete(opened, read_question(opened, "The raven"), greedy(100), [&](const Written& news) {
        if (news.token && ++tokens == 3) std::raise(SIGINT);
      });
  EXPECT_EQ(finish, Finish::kInterrupted);
  EXPECT_EQ(tokens, 3);
}

TEST_F(CompleteTest, RefusesBadOptionsAndShortPrompts) {
  EXPECT_THROW(completed("The raven", {.max_tokens = -1}), UsageError);
  EXPECT_THROW(completed("The raven", {.stop = {""}}), UsageError);
  EXPECT_THAT(message_of<UsageError>([&] { completed("a", greedy(3)); }),
              HasSubstr("the prompt has 1 token; this store needs at least 2"));
}

TEST(BytesAfter, LeavesOutTheRestOfTheQuestion) {
  const Tokenizer tokenizer = byte_tokenizer();
  const TokenBytes bytes = bytes_after(tokenizer, "ra");
  std::string text;
  for (const char token : std::string("raven")) text += bytes(token);
  EXPECT_EQ(text, "ven");
  EXPECT_EQ(bytes(100000), "") << "an id that stands for nothing";
}

}  // namespace
}  // namespace tessera::store
