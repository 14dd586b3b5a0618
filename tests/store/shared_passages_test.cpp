#include "tessera/store/shared_passages.h"

#include <map>

#include "tests/store/small_stores.h"

namespace tessera::store {
namespace {

const std::string kPassage = "one two three four five six seven eight nine ten eleven twelve";

class SharedPassagesTest : public StoreTest {
 protected:
  /// What the other documents of the store share with these.
  std::vector<SharedPassages> shared_with(const std::vector<std::string>& ids,
                                          const OnProgress& on_progress = {}) const {
    const MemoStore opened(store());
    std::vector<StoredDocument> documents;
    for (const std::string& id : ids) documents.push_back(opened.ledger().get(id));
    return shared_passages(opened.ledger(), opened.tokenizer(), documents, on_progress);
  }
};

TEST_F(SharedPassagesTest, AreRunsOfEqualWords) {
  memorize(store(), "asked", kPassage + " thirteen. And then nothing more.\n");  // 17 words
  memorize(store(), "quotes", "A preface\nof four words.\n" + kPassage + " thirteen, he said.\n");
  memorize(store(), "typed", "ONE two,\nthree four five six seven eight nine ten eleven twelve!\n");
  memorize(store(), "eleven", kPassage.substr(4) + " and so on and so on\n");
  memorize(store(), "other", "Nothing of this is there.\n");
  const auto found = shared_with({"asked"});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].document, "quotes");
  EXPECT_EQ(found[0].words, 13) << "two windows of twelve";
  EXPECT_EQ(found[0].share, 13.0 / 17);
  EXPECT_EQ(found[0].line, 3);
  EXPECT_EQ(found[1].document, "typed");
  EXPECT_EQ(found[1].words, 12);
  EXPECT_TRUE(shared_with({"other"}).empty());
}

TEST_F(SharedPassagesTest, ADocumentWithoutWordsIsNotLookedForInTheOthers) {
  memorize(store(), "line", "* * *\n");
  memorize(store(), "other", "* * * One two three.\n");
  bool looked = false;
  EXPECT_TRUE(shared_with({"line"}, [&](int64_t, int64_t) { looked = true; }).empty());
  EXPECT_FALSE(looked);
}

/// A short document is a passage as a whole, also inside the longer ones of others.
TEST_F(SharedPassagesTest, WordsInPassagesOfSeveralDocumentsCountOnce) {
  memorize(store(), "long", kPassage + " thirteen.\n");
  memorize(store(), "short", "Seven, eight\n");
  memorize(store(), "quotes", "Eight\nseven eight, and then:\n" + kPassage + "\n");
  const auto found = shared_with({"long", "short"});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].words, 14);
  EXPECT_EQ(found[0].share, 14.0 / 15);
  EXPECT_EQ(found[0].line, 2);
}

TEST_F(SharedPassagesTest, TheShareCountsWhatIsAskedForNotHowOftenItIsRepeated) {
  const std::string passage = kPassage + " ";
  memorize(store(), "asked", passage + passage + "and thirteen\n");  // 26 words
  memorize(store(), "chorus", passage + ". " + passage + "; " + passage + "\n");
  memorize(store(), "quotes", "He says: " + passage + "\n");
  const auto found = shared_with({"asked"});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].words, 36);
  EXPECT_EQ(found[1].words, 12);
  for (const SharedPassages& passages : found) EXPECT_EQ(passages.share, 24.0 / 26);
}

TEST_F(SharedPassagesTest, DocumentsThatShareTheSamePassagesHaveTheSameShare) {
  const std::string first = kPassage + ". ";
  const std::string second = "a b c d e f g h i j k l. ";
  memorize(store(), "asked", first + second + "\n");  // 24 words
  memorize(store(), "both", second + "But " + first + "\n");
  memorize(store(), "first", first + "\n");
  memorize(store(), "too", "Or " + second + "and " + first + "\n");
  memorize(store(), "second", "He says: " + second + "\n");
  memorize(store(), "first too", "She says: " + first + "\n");
  std::map<std::string, double> shares;
  for (const SharedPassages& passages : shared_with({"asked"}))
    shares[passages.document] = passages.share;
  EXPECT_EQ(shares,
            (std::map<std::string, double>{
                {"both", 1}, {"first", 0.5}, {"first too", 0.5}, {"second", 0.5}, {"too", 1}}));
}

}  // namespace
}  // namespace tessera::store
