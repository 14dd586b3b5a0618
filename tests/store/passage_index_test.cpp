#include <ctime>

#include "tessera/store/ledger.h"
#include "tessera/store/merge.h"
#include "tessera/store/sqlite.h"
#include "tessera/store/verify.h"
#include "tests/store/small_stores.h"

namespace tessera::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class PassageIndexTest : public StoreTest {
 protected:
  /// "document:line" of what is found.
  std::vector<std::string> places(const std::string& question, int64_t limit = 0,
                                  const std::string& name = "store") const {
    std::vector<std::string> places;
    for (const auto& found : MemoStore(store(name)).ledger().search(question, limit))
      places.push_back(found.document + ":" + std::to_string(found.line));
    return places;
  }
};

TEST_F(PassageIndexTest, RanksDocumentsByWordsInAnyOrderAndForm) {
  memorize(store(), "river", "The river runs to the sea.\nBoats sail on the river.\n");
  memorize(store(), "stone", "A stone lies beside a river.\nStones are grey and stones are old.\n");
  memorize(store(), "lamp", "The lamp is out.\n");
  EXPECT_THAT(places("grey stone"), ElementsAre("stone:1"));
  EXPECT_THAT(places("lamps"), ElementsAre("lamp:1")) << "by its stem";
  EXPECT_THAT(places("sailing RIVERS"), ElementsAre("river:1", "stone:1")) << "both words first";
  EXPECT_THAT(places("sailing rivers", 1), ElementsAre("river:1"));
  EXPECT_THAT(places("violin"), ElementsAre());
  EXPECT_THAT(places(""), ElementsAre());
  EXPECT_THAT(places("lamp’s—out"), ElementsAre("lamp:1")) << "other ends of words";
  EXPECT_THAT(places("\"( NEAR -* lamp:"), ElementsAre("lamp:1")) << "no operators";
  const auto found = MemoStore(store()).ledger().search("lamp", 0);
  EXPECT_EQ(found.front().text, "The lamp is out.\n");
  EXPECT_EQ(found.front().marked, "The [lamp] is out.\n");
  EXPECT_GT(found.front().score, 0);
}

TEST_F(PassageIndexTest, OfManyWordsTheFirstCount) {
  memorize(store(), "lamp", "The lamp is out.\n");
  std::string others;
  for (int word = 0; word < 199; ++word) others += "w" + std::to_string(word) + " ";
  EXPECT_THAT(places(others + others + "lamp"), ElementsAre("lamp:1")) << "each counts once";
  EXPECT_THAT(places(others + "violin lamp"), ElementsAre());
}

TEST_F(PassageIndexTest, SaysOnWhichLineTheFirstWordFoundIs) {
  std::string text;
  for (int line = 1; line <= 60; ++line)
    text += line == 41 ? "Here […] a raven sat.\n" : "Nothing is on this line but words.\n";
  text += "A crow\nand a raven.\n";
  memorize(store(), "long", text);
  EXPECT_THAT(places("raven"), UnorderedElementsAre("long:62", "long:41"));
  EXPECT_THAT(places("crow raven", 1), ElementsAre("long:61"));
  for (const auto& found : MemoStore(store()).ledger().search("raven", 0))
    EXPECT_THAT(text, HasSubstr(found.text)) << "as the document has it";
}

TEST_F(PassageIndexTest, CutsLongLinesAtWordsAndCharacters) {
  std::string words, letters;
  for (int i = 0; i < 900; ++i) words += "word" + std::to_string(i) + ' ';
  for (int i = 0; i < 3000; ++i) letters += "é";
  memorize(store(), "words", words);
  memorize(store(), "letters", letters + " raven");
  for (int i = 0; i < 900; i += 50) EXPECT_EQ(places("word" + std::to_string(i)).size(), 1u) << i;
  EXPECT_THAT(places("raven"), ElementsAre("letters:1"));
}

/// The tokens of a ledger from elsewhere may be any bytes.
TEST_F(PassageIndexTest, BytesThatAreNotUtf8HaveAnEnd) {
  memorize(store(), "one", "The lamp is out.\n");
  const std::string bytes = "A" + std::string(5000, '\x80');
  Ledger ledger = StoreFolder::open(store()).open_ledger(sqlite::Access::kWrite);
  const StoredDocument document = ledger.get("one");
  const auto transaction = ledger.transaction();
  ledger.index(document, bytes);
  EXPECT_EQ(ledger.indexed_text(document), "The lamp is out.\n" + bytes);
}

TEST_F(PassageIndexTest, FollowsTheDocuments) {
  memorize(store(), "one", "The raven sat above the door.\n");
  memorize(store(), "one", "The lamp is out.\n", Duplicates::kReplace);
  EXPECT_THAT(places("raven"), ElementsAre());
  EXPECT_THAT(places("lamp"), ElementsAre("one:1"));
  forget(store(), "one");
  EXPECT_THAT(places("lamp"), ElementsAre());
}

TEST_F(PassageIndexTest, DetailsAndPassagesAreMerged) {
  {
    MemoWriter writer(store());
    const std::time_t before = std::time(nullptr);
    writer.memorize("one", "The violet is out.\n", Duplicates::kRefuse, {}, {{"kind", "note"}});
    writer.checkpoint();
    const DocumentDetails details = writer.ledger().details(writer.ledger().get("one"));
    EXPECT_EQ(details.bytes, 19);
    EXPECT_EQ(details.digest.size(), 64u);
    EXPECT_GE(details.memorized, before);
    EXPECT_LE(details.memorized, std::time(nullptr));
  }
  const auto other = store_of("other", {1});
  merge_stores(store("both"), {store(), other});
  EXPECT_THAT(places("violet", 0, "both"), ElementsAre("one:1"));
  EXPECT_EQ(places("orchard page tells", 0, "both").size(), 1u);
  const MemoStore from(store()), both(store("both"));
  EXPECT_EQ(both.ledger().details(both.ledger().get("one")),
            from.ledger().details(from.ledger().get("one")));
}

TEST_F(PassageIndexTest, VerifyNoticesAnotherTextAndRepairIndexesAgain) {
  memorize(store(), "one", "The lamp is out.\n");
  verify(MemoStore(store()));
  sqlite::Database(store() / "ledger.sqlite", sqlite::Access::kWrite)
      .execute("UPDATE words SET text = 'The raven sat.' WHERE rowid = 1");
  EXPECT_THAT(complaint(), HasSubstr("the full-text index does not hold the text of 'one'"));
  MemoWriter(store()).rebuild();
  verify(MemoStore(store()));
  EXPECT_THAT(places("raven"), ElementsAre());
  EXPECT_THAT(places("lamp"), ElementsAre("one:1"));
}

/// The index goes on holding what was memorized, which the tokens do not give back.
TEST_F(PassageIndexTest, TextsThatTokensDoNotGiveBackOutliveMergeAndRepair) {
  const Tokenizer tokenizer = spacing_tokenizer(document_text(1));
  for (const int number : {1, 2}) {
    const std::string id = std::to_string(number);
    create(store(id), tokenizer);
    memorize(store(id), id, document_text(number));
  }
  merge_stores(store("both"), {store("1"), store("2")});
  MemoWriter(store("1")).rebuild();
  for (const char* name : {"1", "both"}) {
    const MemoStore opened(store(name));
    verify(opened);
    EXPECT_EQ(text_of(opened, "1"), ' ' + document_text(1));
    EXPECT_EQ(memorized_text(opened.ledger(), tokenizer, opened.ledger().get("1")),
              document_text(1));
  }
  rebuild_store(store("both"), byte_tokenizer);
  EXPECT_EQ(text_of(MemoStore(store("both")), "2"), document_text(2));
}

/// With and without the space that the tokenizer puts before a text.
TEST_F(PassageIndexTest, DifferentTextsOfEqualTokensAreNotMerged) {
  const Tokenizer tokenizer = spacing_tokenizer(document_text(1));
  for (const std::string space : {"", " "}) {
    create(store("one" + space), tokenizer);
    memorize(store("one" + space), "id", space + document_text(1));
  }
  ASSERT_EQ(digest(store("one")), digest(store("one "))) << "equal tokens";
  EXPECT_THAT(message_of<UsageError>([&] {
                merge_stores(store("both"), {store("one"), store("one ")});
              }),
              HasSubstr("both hold a document 'id', of different texts"));
}

TEST_F(PassageIndexTest, RepairKeepsTheOtherTextsWhereOneIsDamaged) {
  const Tokenizer tokenizer = spacing_tokenizer(document_text(1));
  create(store("spaced"), tokenizer);
  for (const int number : {1, 2})
    memorize(store("spaced"), std::to_string(number), document_text(number));
  sqlite::Database(store("spaced") / "ledger.sqlite", sqlite::Access::kWrite)
      .execute("UPDATE words SET text = 5 WHERE rowid = 1");
  MemoWriter(store("spaced")).rebuild();
  const MemoStore opened(store("spaced"));
  EXPECT_EQ(memorized_text(opened.ledger(), tokenizer, opened.ledger().get("1")),
            ' ' + document_text(1));
  EXPECT_EQ(memorized_text(opened.ledger(), tokenizer, opened.ledger().get("2")), document_text(2));
}

TEST_F(PassageIndexTest, MetadataThatARowDoesNotHoldIsRefused) {
  MemoWriter writer(store());
  const Metadata metadata = {{"note", std::string(17 << 20, 'n')}};
  const auto refusal = [&](const auto& write) { return message_of<UsageError>(write); };
  EXPECT_THAT(refusal([&] {
                writer.memorize("one", "The lamp is out.\n", Duplicates::kRefuse, {}, metadata);
              }),
              HasSubstr("metadata of 17825796 bytes"));
  EXPECT_EQ(writer.ledger().totals().documents, 0);
  writer.memorize("one", "The lamp is out.\n", Duplicates::kRefuse);
  EXPECT_THAT(refusal([&] {
                writer.describe("one", {17, 0, "", metadata});
              }),
              HasSubstr("at most 1048576"));
}

/// The text alone decides whether a document is memorized again.
TEST_F(PassageIndexTest, AnUnchangedTextIsLeftAsItIs) {
  MemoWriter writer(store());
  const std::string text = "The lamp is out.\n";
  EXPECT_EQ(writer.memorize("one", text, Duplicates::kRefuse, {}, {{"a", "1"}, {"b", "2"}}),
            Memorized::kNew);
  const int64_t change = writer.ledger().last_change();
  EXPECT_EQ(writer.memorize("one", text, Duplicates::kReplace, {}, {{"a", "3"}}),
            Memorized::kDescribed);
  EXPECT_EQ(writer.ledger().last_change(), change);
  const DocumentDetails details = writer.ledger().details(writer.ledger().get("one"));
  EXPECT_EQ(details.metadata, (Metadata{{"a", "3"}, {"b", "2"}}));
}

}  // namespace
}  // namespace tessera::store
