#include "tessera/store/recall.h"

#include "tessera/base/error.h"
#include "tessera/store/recall_measure.h"
#include "tests/store/small_stores.h"

namespace tessera::store {
namespace {

class RecallTest : public StoreTest {
 protected:
  Recall recall_after(const std::string& prompt, const RecallOptions& options = {}) const {
    const MemoStore opened(store());
    return recall(opened, opened.tokenizer().encode(prompt), options);
  }
};

TEST_F(RecallTest, RecitesToTheEndOfTheDocument) {
  memorize(store(), "one", "The raven sat above the door.");
  memorize(store(), "two", "My lamp went out at nine.");
  const Recall result = recall_after("The raven", {.tokens = 100});
  EXPECT_EQ(text_of(result), " sat above the door.");
  EXPECT_EQ(result.finish, Finish::kEndOfText);
  ASSERT_EQ(result.sources.size(), result.tokens.size());
  for (size_t i = 0; i < result.tokens.size(); ++i) {
    ASSERT_GE(result.sources[i].places, 1);
    EXPECT_EQ(result.sources[i].best[0].document, "one");
    EXPECT_EQ(result.sources[i].best[0].position, static_cast<int64_t>(9 + i));
    EXPECT_EQ(result.sources[i].best[0].matched_length, static_cast<int64_t>(8 + i))
        << "the longest window of the prompt, and what was recalled";
    EXPECT_EQ(result.tokens[i].matched_length, 8);
    EXPECT_EQ(result.tokens[i].window_scores.size(), 3u);
    EXPECT_GT(result.tokens[i].probability, 0.99);
  }
}

TEST_F(RecallTest, StopsWhereItIsTold) {
  memorize(store(), "one", "The raven sat above the door.");
  const Recall result = recall_after("The raven", {.tokens = 4});
  EXPECT_EQ(text_of(result), " sat");
  EXPECT_EQ(result.finish, Finish::kMaxTokens);
  EXPECT_TRUE(recall_after("The raven", {.tokens = 0}).tokens.empty());
}

TEST_F(RecallTest, AbstainsWhereNothingWasStored) {
  EXPECT_EQ(recall_after("anything").finish, Finish::kNotStored) << "the store is empty";
  memorize(store(), "one", "The raven sat above the door.");
  const Recall result = recall_after("Quoth Lucy");
  EXPECT_TRUE(result.tokens.empty());
  EXPECT_EQ(result.finish, Finish::kNotStored);
  forget(store(), "one");
  EXPECT_EQ(recall_after("The raven").finish, Finish::kNotStored);
}

TEST_F(RecallTest, BacksOffToShorterWindows) {
  memorize(store(), "one", "The raven sat above the door.");
  const Recall result = recall_after("A new raven s", {.tokens = 3});
  EXPECT_EQ(text_of(result), "at ");
  EXPECT_EQ(result.sources[0].best[0].matched_length, 8);
  const Recall shorter = recall_after("XXXXXX sa", {.tokens = 3});
  EXPECT_EQ(text_of(shorter), "t a");
  EXPECT_EQ(shorter.tokens[0].matched_length, 2);
}

TEST_F(RecallTest, NamesEveryDocumentThatSaysTheSame) {
  memorize(store(), "one", "It was the best of times.");
  memorize(store(), "two", "It was the best of wines.");
  const Recall result = recall_after("It was t", {.tokens = 10, .sources = 5});
  EXPECT_EQ(text_of(result), "he best of");
  for (const TokenSources& sources : result.sources) {
    EXPECT_EQ(sources.places, 2);
    ASSERT_EQ(sources.best.size(), 2u);
    EXPECT_EQ(sources.best[0].document, "one");
    EXPECT_EQ(sources.best[1].document, "two");
  }
}

TEST_F(RecallTest, TokensInARowAreOnePassage) {
  memorize(store(), "one", "It was the\nbest of times.");
  memorize(store(), "two", "It was the\nbest of wines.");
  const auto passages = passages_of(recall_after("It was t", {.tokens = 10, .sources = 5}));
  ASSERT_EQ(passages.size(), 1u);
  EXPECT_EQ(passages[0].first, 0u);
  EXPECT_EQ(passages[0].last, 9u);
  EXPECT_EQ(passages[0].source->position, 8);
  EXPECT_EQ(passages[0].source->line, 1);
  EXPECT_EQ(passages[0].last_line, 2);
  EXPECT_THAT(passages[0].also_in, ::testing::ElementsAre("two"));
  EXPECT_TRUE(passages_of({}).empty());
}

TEST_F(RecallTest, APassageEndsWhereTheDocumentDoesOrThePlaceIsAnother) {
  const auto token = [](int64_t matched_length, double probability) {
    return memo::NextToken{.probability = probability, .matched_length = matched_length};
  };
  const auto at = [](const char* document, int64_t position) {
    return TokenSources{.best = {{.document = document, .position = position}}};
  };
  const auto passages =
      passages_of({.tokens = {token(3, 0.9), token(2, 0.8), token(4, 1), token(4, 1), token(0, 0.6),
                              token(0, 0.7)},
                   .sources = {at("one", 4), at("one", 5), at("one", 9), at("two", 10), {}, {}}});
  ASSERT_EQ(passages.size(), 4u);
  EXPECT_EQ(passages[0].last, 1u);
  EXPECT_EQ(passages[0].matched_length, 2);
  EXPECT_EQ(passages[0].probability, 0.8);
  EXPECT_EQ(passages[1].source->position, 9);
  EXPECT_EQ(passages[2].source->document, "two");
  EXPECT_FALSE(passages[3].source);
  EXPECT_EQ(passages[3].last, 5u);
  EXPECT_EQ(passages[3].probability, 0.6);
}

TEST_F(RecallTest, ThePapersCodeRecitesByScore) {
  memo::TextMemoryConfig paper = small_memory();
  paper.code = memo::WindowCodeKind::kPaper;
  paper.dimension = 512;
  std::filesystem::remove_all(store());
  MemoStore::create(store(), paper, byte_tokenizer());
  memorize(store(), "one", "abcdefghijklmnopqrstuvwxyz");
  EXPECT_EQ(text_of(recall_after("defghijk", {.tokens = 5})), "lmnop");
  EXPECT_THROW(recall_after("defghijk", {.tokens = 5, .error_rate = 0.5}), UsageError);
}

TEST_F(RecallTest, PredictsAfterTheLastTokensOfTexts) {
  for (const auto code : {memo::WindowCodeKind::kBound, memo::WindowCodeKind::kPaper}) {
    memo::TextMemoryConfig config = small_memory();
    config.code = code;
    std::filesystem::remove_all(store());
    MemoStore::create(store(), config, byte_tokenizer());
    memorize(store(), "one", "The raven sat above the door.");
    const MemoStore opened(store());
    const StoreReader reader(opened);
    const std::string typed = "Quoth the raven sa";
    const std::vector<int64_t> text(typed.begin(), typed.end());
    const std::vector<int32_t> last(typed.end() - 8, typed.end());  // the longest window
    const std::vector<int32_t> first(typed.begin(), typed.begin() + 3);
    const std::vector<std::span<const int64_t>> texts = {text, std::span(text).first(3)};
    const std::vector<std::span<const int32_t>> contexts = {last, first};
    const auto scores = memo::read_contexts(opened.memory(), contexts);
    const auto expected = reader.next_of(contexts);
    const auto predictions = reader.predict(texts);
    ASSERT_EQ(predictions.size(), 2u);
    EXPECT_EQ(predictions[0].best.token, 't');
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(predictions[i].best.token, expected[i].token);
      EXPECT_EQ(predictions[i].best.evidence, expected[i].evidence);
      const auto logs = reader.decoder().log_probabilities(scores[i]);
      for (size_t token = 0; token < logs.size(); ++token)
        EXPECT_EQ(predictions[i].logits[token], static_cast<float>(logs[token]));
    }
  }
}

TEST_F(RecallTest, RefusesAPromptWithoutAWindow) {
  EXPECT_THAT(message_of<UsageError>([&] { recall_after("a"); }),
              HasSubstr("the prompt has 1 token; this store needs at least 2"));
  EXPECT_THROW(recall_after("abc", {.error_rate = 0}), UsageError);
}

TEST_F(RecallTest, MeasuresItself) {
  EXPECT_EQ(measure_recall(MemoStore(store()), 10, 1).positions, 0) << "the store is empty";
  memorize(store(), "one", "abcdefghijklmnopqrstuvwxyz");
  memorize(store(), "two", "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
  int64_t told = 0;
  const MeasuredRecall all =
      measure_recall(MemoStore(store()), 1000, 1, [&](int64_t done, int64_t of) {
        EXPECT_EQ(done, ++told);
        EXPECT_EQ(of, 2 * (26 + 1 - 2));
      });
  EXPECT_EQ(all.positions, 2 * (26 + 1 - 2));
  EXPECT_EQ(told, all.positions);
  EXPECT_EQ(all.right, all.positions);
  EXPECT_EQ(all.recalled, all.positions);
  EXPECT_EQ(measure_recall(MemoStore(store()), 7, 1).positions, 7);
  EXPECT_THROW(measure_recall(MemoStore(store()), 0, 1), UsageError);

  memorize(store(), "three", "abcdefghijkl?");
  const MeasuredRecall some = measure_recall(MemoStore(store()), 1000, 1);
  EXPECT_LT(some.right, some.positions) << "'kl' goes on in two ways";
}

}  // namespace
}  // namespace tessera::store
