// The history that a store keeps names each document that is forgotten, once, whenever the command
// that forgets it ends.

#include "tessera/store/detail/history.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "tessera/base/config.h"
#include "tessera/store/digest.h"
#include "tessera/store/merge.h"
#include "tests/store/small_stores.h"

namespace tessera::store {
namespace {

class HistoryTest : public StoreTest {
 protected:
  HistoryTest() {
    for (const int number : {1, 2})
      memorize(store(), std::to_string(number), document_text(number));
    overwrite(history(), "");
  }
  std::filesystem::path history() const { return store() / StoreFolder::kHistoryFile; }
  std::vector<config::Json> events() const {
    std::vector<config::Json> events;
    std::istringstream lines(read_file(history()));
    for (std::string line; std::getline(lines, line);) events.push_back(config::Json::parse(line));
    return events;
  }
};

TEST_F(HistoryTest, SaysWhatWasForgotten) {
  const std::string before = digest(store()), text = document_text(1);
  forget(store(), "1");
  ASSERT_EQ(events().size(), 1u);
  const config::Json event = events()[0];
  EXPECT_EQ(event["event"], "forgotten");
  EXPECT_EQ(event["sha256"], text_digest(text));
  EXPECT_EQ(event["bytes"], text.size());
  EXPECT_EQ(event["tokens"], text.size() + 1);
  EXPECT_EQ(event["digest_before"], before);
  EXPECT_EQ(event["digest_after"], digest(store()));
}

TEST_F(HistoryTest, GoesOnInALineOfItsOwn) {
  overwrite(history(), R"({"edited":"by hand"})");
  forget(store(), "1");
  ASSERT_EQ(events().size(), 2u);
  EXPECT_EQ(events()[1]["event"], "forgotten");
}

TEST_F(HistoryTest, HasNeitherWhatIsReplacedNorAnythingWhereItIsNotKept) {
  memorize(store(), "1", document_text(3), Duplicates::kReplace);
  EXPECT_EQ(events().size(), 0u);
  std::filesystem::remove(history());
  forget(store(), "1");
  EXPECT_FALSE(std::filesystem::exists(history()));
}

TEST_F(HistoryTest, OfAWriterThatWasKilledIsWrittenByTheNext) {
  memorize(store(), "copy", document_text(1));
  {
    MemoWriter writer(store());
    writer.forget("1");
    writer.forget("copy");
  }
  EXPECT_EQ(events().size(), 0u);
  MemoWriter{store()};
  ASSERT_EQ(events().size(), 2u);
  EXPECT_EQ(events()[0]["sha256"], events()[1]["sha256"]);
}

/// Killed after the history is written and before the text is erased; then the same text comes and
/// goes again.
TEST_F(HistoryTest, ListsNoErasureTwice) {
  {
    MemoWriter writer(store());
    writer.forget("1");
    note_in_history(store(), writer.ledger(), std::vector<std::string>{"digest"});
    note_in_history(store(), writer.ledger(), std::vector<std::string>{"digest"});
  }
  EXPECT_EQ(events().size(), 1u);
  {
    MemoWriter writer(store());
    EXPECT_EQ(events().size(), 1u);
    writer.memorize("1", document_text(1), Duplicates::kRefuse);
    writer.forget("1");
    writer.checkpoint();
  }
  EXPECT_EQ(events().size(), 2u);
}

TEST_F(HistoryTest, OfARebuiltStoreHasWhatWentWithTheOldFiles) {
  forget(store(), "1");
  { MemoWriter(store()).forget("2"); }
  rebuild_store(store(), byte_tokenizer);
  ASSERT_EQ(events().size(), 2u);
  EXPECT_EQ(events()[1]["sha256"], text_digest(document_text(2)));
  EXPECT_EQ(events()[1]["digest_after"], digest(store()));
}

TEST_F(HistoryTest, ThatIsBegunDuringARebuildingIsKept) {
  std::filesystem::remove(history());
  rebuild_store(store(), byte_tokenizer, [&](int64_t, int64_t) { create_file(history()); });
  EXPECT_TRUE(std::filesystem::exists(history()));
}

}  // namespace
}  // namespace tessera::store
