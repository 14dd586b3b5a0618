#include "tessera/store/shared_passages.h"

#include <map>

#include "tests/store/small_stores.h"

namespace tessera::store {
namespace {

TEST_F(StoreTest, SharedPassagesAreRunsOfEqualWords) {
  const std::string passage = "one two three four five six seven eight nine ten eleven twelve";
  memorize(store(), "asked", passage + " thirteen. And then nothing more.\n");  // 17 words
  memorize(store(), "quotes", "A preface\nof four words.\n" + passage + " thirteen, he said.\n");
  memorize(store(), "typed", "ONE two,\nthree four five six seven eight nine ten eleven twelve!\n");
  memorize(store(), "eleven", passage.substr(4) + " and so on and so on\n");
  memorize(store(), "other", "Nothing of this is there.\n");
  const auto shared = [&](const std::string& id) {
    const MemoStore opened(store());
    return shared_passages(opened.ledger(), opened.tokenizer(), {opened.ledger().get(id)},
                           [](int64_t, int64_t) {});
  };
  const auto found = shared("asked");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].document, "quotes");
  EXPECT_EQ(found[0].words, 13) << "two windows of twelve";
  EXPECT_EQ(found[0].share, 13.0 / 17);
  EXPECT_EQ(found[0].line, 3);
  EXPECT_EQ(found[1].document, "typed");
  EXPECT_EQ(found[1].words, 12);
  EXPECT_TRUE(shared("other").empty());
}

TEST_F(StoreTest, ADocumentWithoutWordsIsNotLookedForInTheOthers) {
  memorize(store(), "line", "* * *\n");
  memorize(store(), "other", "* * * One two three.\n");
  const MemoStore opened(store());
  bool looked = false;
  const auto found =
      shared_passages(opened.ledger(), opened.tokenizer(), {opened.ledger().get("line")},
                      [&](int64_t, int64_t) { looked = true; });
  EXPECT_TRUE(found.empty());
  EXPECT_FALSE(looked);
}

/// A short document is a passage as a whole, also inside the longer ones of others.
TEST_F(StoreTest, WordsInPassagesOfSeveralDocumentsCountOnce) {
  const std::string passage = "one two three four five six seven eight nine ten eleven twelve";
  memorize(store(), "long", passage + " thirteen.\n");
  memorize(store(), "short", "Seven, eight\n");
  memorize(store(), "quotes", "Eight\nseven eight, and then:\n" + passage + "\n");
  const MemoStore opened(store());
  const auto found = shared_passages(opened.ledger(), opened.tokenizer(),
                                     {opened.ledger().get("long"), opened.ledger().get("short")},
                                     [](int64_t, int64_t) {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].words, 14);
  EXPECT_EQ(found[0].share, 14.0 / 15);
  EXPECT_EQ(found[0].line, 2);
}

TEST_F(StoreTest, TheShareCountsWhatIsAskedForNotHowOftenItIsRepeated) {
  const std::string passage = "one two three four five six seven eight nine ten eleven twelve ";
  memorize(store(), "asked", passage + passage + "and thirteen\n");  // 26 words
  memorize(store(), "chorus", passage + ". " + passage + "; " + passage + "\n");
  memorize(store(), "quotes", "He says: " + passage + "\n");
  const MemoStore opened(store());
  const auto found = shared_passages(opened.ledger(), opened.tokenizer(),
                                     {opened.ledger().get("asked")}, [](int64_t, int64_t) {});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].words, 36);
  EXPECT_EQ(found[1].words, 12);
  for (const SharedPassages& passages : found) EXPECT_EQ(passages.share, 24.0 / 26);
}

TEST_F(StoreTest, DocumentsThatShareTheSamePassagesHaveTheSameShare) {
  const std::string first = "one two three four five six seven eight nine ten eleven twelve. ";
  const std::string second = "a b c d e f g h i j k l. ";
  memorize(store(), "asked", first + second + "\n");  // 24 words
  memorize(store(), "both", second + "But " + first + "\n");
  memorize(store(), "first", first + "\n");
  memorize(store(), "too", "Or " + second + "and " + first + "\n");
  memorize(store(), "second", "He says: " + second + "\n");
  memorize(store(), "first too", "She says: " + first + "\n");
  const MemoStore opened(store());
  std::map<std::string, double> shares;
  for (const auto& passages :
       shared_passages(opened.ledger(), opened.tokenizer(), {opened.ledger().get("asked")},
                       [](int64_t, int64_t) {}))
    shares[passages.document] = passages.share;
  EXPECT_EQ(shares,
            (std::map<std::string, double>{
                {"both", 1}, {"first", 0.5}, {"first too", 0.5}, {"second", 0.5}, {"too", 1}}));
}

}  // namespace
}  // namespace tessera::store
