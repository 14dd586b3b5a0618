// What a store holds, and that forgetting is exact whatever came before.

#include "tessera/store/memo_store.h"

#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <thread>

#include "tessera/base/error.h"
#include "tessera/base/random.h"
#include "tessera/store/digest.h"
#include "tessera/store/merge.h"
#include "tessera/store/verify.h"
#include "tests/store/small_stores.h"

namespace tessera::store {
namespace {

TEST_F(StoreTest, HoldsWhatItWasGiven) {
  memorize(store(), "one", document_text(1));
  memorize(store(), "two", document_text(2));
  const MemoStore opened(store());
  EXPECT_EQ(ids(opened), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(text_of(opened, "one"), document_text(1));
  EXPECT_EQ(text_of(opened, "two"), document_text(2));
  const LedgerTotals totals = opened.ledger().totals();
  EXPECT_EQ(totals.documents, 2);
  EXPECT_EQ(totals.tokens,
            static_cast<int64_t>(document_text(1).size() + document_text(2).size() + 2));
  EXPECT_EQ(totals.pairs, opened.memory().pairs());
  EXPECT_EQ(verify(opened).digest, opened.digest());
}

TEST_F(StoreTest, StartsEmpty) {
  const MemoStore opened(store());
  EXPECT_EQ(opened.ledger().totals().documents, 0);
  EXPECT_EQ(opened.memory().pairs(), 0);
  EXPECT_EQ(opened.config().memory.vocabulary, 257);
  EXPECT_EQ(verify(opened).digest,
            content_digest(opened.config().text(), memo::ExactCorrelationMemory(128, 128)));
}

TEST_F(StoreTest, ForgettingLeavesAStoreThatNeverHeldIt) {
  const std::string expected = digest(store_of("never", {1, 3}));
  for (const std::vector<int>& order :
       {std::vector<int>{1, 2, 3}, {2, 1, 3}, {3, 1, 2}, {3, 2, 1}}) {
    const auto path = store_of("store" + std::to_string(order[0] * 100 + order[1] * 10), order);
    EXPECT_NE(digest(path), expected);
    forget(path, "2");
    EXPECT_EQ(digest(path), expected);
    EXPECT_EQ(verify(MemoStore(path)).digest, expected);
    memorize(path, "2", document_text(2));
    EXPECT_NE(digest(path), expected);
    forget(path, "2");
    EXPECT_EQ(digest(path), expected);
  }
}

TEST_F(StoreTest, ThreadsMakeNoDifference) {
  const int threads = omp_get_max_threads();
  std::string digests[2];
  for (const int count : {1, 2}) {
    omp_set_num_threads(count);
    const auto path = store_of("threads" + std::to_string(count), {1, 2, 3, 4, 5});
    forget(path, "4");
    digests[count - 1] = digest(path);
  }
  omp_set_num_threads(threads);
  EXPECT_EQ(digests[0], digests[1]);
  EXPECT_EQ(digests[0], digest(store_of("never", {5, 3, 2, 1})));
}

TEST_F(StoreTest, MergedShardsAreTheWhole) {
  const auto whole = store_of("whole", {1, 2, 3, 4, 5});
  const auto odd = store_of("odd", {5, 3, 1}), even = store_of("even", {2, 4});
  const LedgerTotals totals = merge_stores(store("merged"), {odd, even});
  EXPECT_EQ(totals.documents, 5);
  EXPECT_EQ(digest(store("merged")), digest(whole));
  EXPECT_EQ(ids(MemoStore(store("merged"))), (std::vector<std::string>{"5", "3", "1", "2", "4"}));
  EXPECT_EQ(verify(MemoStore(store("merged"))).digest, digest(whole));
  for (const char* id : {"2", "4"}) forget(store("merged"), id);
  EXPECT_EQ(digest(store("merged")), digest(odd));
  merge_stores(store("twice"), {store(), store("merged"), even});
  EXPECT_EQ(digest(store("twice")), digest(whole));
}

TEST_F(StoreTest, MoreStoresAreMergedThanFilesMayBeOpen) {
  const auto one = store_of("one", {1});
  rlimit before = {};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{64, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  merge_stores(store("merged"), std::vector(100, one));
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(digest(store("merged")), digest(one));
}

TEST_F(StoreTest, AMergedDocumentHasTheMetadataOfAllStores) {
  const auto one = store_of("one", {1}), two = store_of("two", {1});
  const auto describe = [](const auto& store, const Metadata& metadata) {
    MemoWriter writer(store);
    writer.memorize("1", document_text(1), Duplicates::kReplace, {}, metadata);
    writer.checkpoint();
  };
  describe(one, {{"author", "David"}, {"kind", "psalm"}});
  describe(two, {{"author", "David"}, {"case", "77"}});
  merge_stores(store("merged"), {one, two});
  const MemoStore merged(store("merged"));
  EXPECT_EQ(merged.ledger().details(merged.ledger().get("1")).metadata,
            (Metadata{{"author", "David"}, {"case", "77"}, {"kind", "psalm"}}));
  describe(two, {{"author", "Paul"}});
  EXPECT_THAT(message_of<UsageError>([&] {
                merge_stores(store("other"), {one, two});
              }),
              HasSubstr("one and " + two.native() +
                        " both hold a document '1', with author=David and author=Paul"));
}

TEST_F(StoreTest, MergesOnlyWhatFits) {
  const auto one = store_of("one", {1, 2}), same = store_of("same", {2, 3}),
             other = store_of("other", {3});
  merge_stores(store("both"), {one, same});
  EXPECT_EQ(digest(store("both")), digest(store_of("whole", {1, 2, 3}))) << "'2' is held once";
  EXPECT_EQ(verify(MemoStore(store("both"))).totals.documents, 3);
  memorize(other, "2", document_text(4));
  EXPECT_THAT(message_of<UsageError>([&] {
                merge_stores(store("out"), {one, other});
              }),
              HasSubstr("both hold a document '2', of different texts"));
  MemoStore::create(store("seed"), small_memory(1), byte_tokenizer());
  EXPECT_THAT(message_of<UsageError>([&] {
                merge_stores(store("out"), {one, store("seed")});
              }),
              HasSubstr("\"seed\":1"));
  EXPECT_FALSE(std::filesystem::exists(store("out")));
  EXPECT_THAT(message_of<UsageError>([&] { merge_stores(one, {other}); }),
              HasSubstr("already exists"));
}

TEST_F(StoreTest, ADuplicateIsRefusedOrReplaced) {
  memorize(store(), "one", document_text(1));
  const std::string before = digest(store());
  EXPECT_THAT(message_of<UsageError>([&] { memorize(store(), "one", document_text(2)); }),
              "'one' is stored already; replace it, or forget it first");
  EXPECT_EQ(digest(store()), before);
  memorize(store(), "one", document_text(2), Duplicates::kReplace);
  EXPECT_EQ(text_of(MemoStore(store()), "one"), document_text(2));
  EXPECT_EQ(digest(store()), digest(store_of("never", {2})));
  MemoWriter writer(store());
  const int64_t changes = writer.ledger().last_change();
  EXPECT_EQ(writer.memorize("one", document_text(2), Duplicates::kReplace), Memorized::kUnchanged);
  EXPECT_EQ(writer.ledger().last_change(), changes);
  EXPECT_EQ(writer.memorize("new", document_text(3), Duplicates::kReplace), Memorized::kNew);
  EXPECT_EQ(writer.memorize("new", document_text(4), Duplicates::kReplace), Memorized::kReplaced);
  EXPECT_EQ(verify(MemoStore(store())).totals.documents, 2);
}

TEST_F(StoreTest, RefusesWhatIsNoTextAndStaysAsItWas) {
  memorize(store(), "one", document_text(1));
  const std::string before = digest(store());
  MemoWriter writer(store());
  const auto refusal = [&](const std::string& text) {
    return message_of<TextError>([&] { writer.memorize("bad", text, Duplicates::kRefuse); });
  };
  EXPECT_THAT(refusal(""), HasSubstr("bad: is empty"));
  EXPECT_THAT(refusal(std::string("bi\0nary", 7)), HasSubstr("byte 2 is zero"));
  EXPECT_THAT(refusal("ok \xC3("), HasSubstr("byte 3 is not valid UTF-8"));
  for (const std::string& id :
       {std::string(), std::string("a\nb"), std::string("\xFF"), std::string(5000, 'x')})
    EXPECT_THAT(message_of<UsageError>([&] { writer.memorize(id, "text", Duplicates::kRefuse); }),
                HasSubstr("the id of a document"));
  EXPECT_THAT(message_of<UsageError>([&] { writer.forget("onf"); }),
              HasSubstr("there is no document 'onf'; did you mean 'one'?"));
  writer.checkpoint();
  EXPECT_EQ(digest(store()), before);
  EXPECT_EQ(ids(MemoStore(store())), std::vector<std::string>{"one"});
  create(store("letters"), Tokenizer::characters("abc", EndOfText::kPresent));
  EXPECT_THAT(message_of<TextError>([&] { memorize(store("letters"), "bad", "abd"); }),
              HasSubstr("bad: byte 2: the character U+0064 is not among"));
}

TEST_F(StoreTest, CreatesNothingOverWhatIsThere) {
  const auto create = [&](const std::filesystem::path& path) {
    MemoStore::create(path, small_memory(), byte_tokenizer());
  };
  EXPECT_THAT(message_of<UsageError>([&] { create(store()); }), HasSubstr("already exists"));
  std::filesystem::create_directory(store("empty"));
  create(store("empty"));
  create(store("deep/er") / "");
  EXPECT_EQ(MemoStore(store("deep/er")).ledger().totals().documents, 0);
  memo::TextMemoryConfig odd = small_memory();
  odd.dimension = 100;
  EXPECT_THROW(MemoStore::create(store("odd"), odd, byte_tokenizer()), UsageError);
  EXPECT_FALSE(std::filesystem::exists(store("odd")));
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_EQ(entry.path().native().find("unfinished"), std::string::npos);
}

TEST_F(StoreTest, OneWriterAtATime) {
  const MemoWriter first(store());
  EXPECT_THAT(message_of<std::runtime_error>([&] { MemoWriter second(store()); }),
              HasSubstr("another process is writing to this store"));
}

/// By this number those who keep a reader open see that there is something new.
TEST_F(StoreTest, TheLedgersStateIsAnotherWithOtherMetadata) {
  memorize(store(), "one", document_text(1));
  std::set<int64_t> states = {MemoStore(store()).ledger().state()};
  for (const Metadata& metadata : {Metadata{{"a", "b"}}, {{"a", "bc"}}, {{"ab", "c"}}}) {
    MemoWriter writer(store());
    DocumentDetails details = writer.ledger().details(writer.ledger().get("one"));
    details.metadata = metadata;
    writer.describe("one", details);
    writer.checkpoint();
    EXPECT_TRUE(states.insert(MemoStore(store()).ledger().state()).second);
  }
  { MemoWriter(store()).forget("one"); }
  const int64_t pending = MemoStore(store()).ledger().state();
  MemoWriter{store()};
  EXPECT_NE(MemoStore(store()).ledger().state(), pending);
}

/// What is written by name would go into the store that is there now, and its documents would be
/// copied from there.
TEST_F(StoreTest, AStoreThatIsMovedWhileItIsWrittenLeavesAnotherInItsPlaceAlone) {
  {
    MemoWriter writer(store());
    writer.memorize("one", document_text(1), Duplicates::kRefuse);
    std::filesystem::rename(store(), store("moved"));
    const std::string other = digest(store_of("store", {2}));
    EXPECT_THAT(message_of<std::runtime_error>([&] { writer.checkpoint(); }),
                HasSubstr("is not the store that was opened"));
    EXPECT_EQ(verify(MemoStore(store())).digest, other);
    EXPECT_EQ(ids(MemoStore(store())), std::vector<std::string>{"2"});
    std::filesystem::remove_all(store());
  }
  memorize(store("moved"), "three", document_text(3));
  EXPECT_EQ(ids(MemoStore(store("moved"))), (std::vector<std::string>{"one", "three"}));
  EXPECT_EQ(complaint("moved"), "");
}

TEST_F(StoreTest, AReaderSeesTheMomentItWasOpened) {
  memorize(store(), "one", document_text(1));
  const std::string before = digest(store());
  MemoWriter writer(store());
  const MemoStore early(store());
  writer.memorize("two", document_text(2), Duplicates::kRefuse);
  const MemoStore middle(store());  // two is in the journal only
  writer.checkpoint();
  writer.forget("one");
  EXPECT_EQ(early.digest(), before);
  EXPECT_EQ(text_of(early, "one"), document_text(1));
  EXPECT_EQ(verify(early).totals.documents, 1);
  EXPECT_EQ(ids(middle), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(verify(middle).totals.documents, 2);
  EXPECT_EQ(digest(store()), digest(store_of("never", {2})));
}

TEST_F(StoreTest, ForgettingWaitsForReadersOfTheStateBefore) {
  memorize(store(), "one", document_text(1));
  std::optional<MemoStore> reader(store());
  MemoWriter writer(store());
  writer.forget("one");
  std::atomic<bool> ended = false;
  std::thread ending([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ended = true;
    reader.reset();
  });
  writer.checkpoint();
  EXPECT_TRUE(ended);
  ending.join();
}

TEST_F(StoreTest, WhatWasNotWrittenIsDoneAgain) {
  {
    MemoWriter writer(store());  // ends without a checkpoint, as one that is killed
    writer.memorize("1", document_text(1), Duplicates::kRefuse);
    writer.memorize("2", document_text(2), Duplicates::kRefuse);
    writer.forget("1");
  }
  const std::string expected = digest(store_of("never", {2}));
  EXPECT_EQ(digest(store()), expected);
  EXPECT_EQ(verify(MemoStore(store())).digest, expected);
  MemoWriter(store()).checkpoint();
  EXPECT_EQ(digest(store()), expected);
}

/// Of what was not synced, the disk may have any first part.
TEST_F(StoreTest, APowerFailureUndoesTheLastDocumentsAsAWhole) {
  const std::vector<std::string> all = {"1", "2", "3", "4"};
  {
    MemoWriter writer(store());
    for (const std::string& id : all)
      writer.memorize(id, document_text(std::stoi(id)), Duplicates::kRefuse);
    std::filesystem::copy(store(), store("left"));
  }
  const auto log = [&](const std::string& name) { return store(name) / "ledger.sqlite-wal"; };
  constexpr int kParts = 12;
  std::set<size_t> kept;
  for (int part = 0; part <= kParts; ++part) {
    std::filesystem::copy(store("left"), store("found"));
    std::filesystem::remove(store("found") / "ledger.sqlite-shm");
    std::filesystem::resize_file(log("found"), file_bytes(log("left")) * part / kParts);
    const std::vector<std::string> found = ids(MemoStore(store("found")));
    EXPECT_TRUE(std::ranges::equal(found, std::span(all).first(found.size()))) << part;
    EXPECT_EQ(complaint("found"), "") << part;
    kept.insert(found.size());
    memorize(store("found"), "more", document_text(9));
    EXPECT_EQ(complaint("found"), "") << part;
    std::filesystem::remove_all(store("found"));
  }
  EXPECT_GE(kept.size(), 3u);
}

TEST_F(StoreTest, ADocumentOfManyPieces) {
  std::string text;
  for (int i = 0; text.size() < 150000; ++i) text += document_text(i);
  memorize(store(), "long", text);
  EXPECT_EQ(text_of(MemoStore(store()), "long"), text);
  EXPECT_EQ(verify(MemoStore(store())).totals.tokens, std::ssize(text) + 1);
  forget(store(), "long");
  EXPECT_EQ(digest(store()), digest(store_of("never", {})));
}

/// Whatever is memorized, replaced and forgotten, with checkpoints or without: the digest is that
/// of a store that only ever memorized what is left.
TEST_F(StoreTest, HistoryLeavesNoTrace) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    RandomStream random(seed);
    const auto path = store_of("store" + std::to_string(seed), {});
    std::map<std::string, int> held;
    std::optional<MemoWriter> writer(path);
    for (int step = 0; step < 12; ++step) {
      const std::string id(1, static_cast<char>('a' + random.below(4)));
      if (held.contains(id) && random.below(2) == 0) {
        writer->forget(id);
        held.erase(id);
      } else {
        held[id] = static_cast<int>(random.below(50));
        writer->memorize(id, document_text(held[id]), Duplicates::kReplace);
      }
      const uint64_t then = random.below(4);
      if (then == 0) writer->checkpoint();
      if (then == 1) writer.emplace(path);
    }
    writer->checkpoint();
    const auto never = store_of("never" + std::to_string(seed), {});
    MemoWriter straight(never);
    for (const auto& [id, number] : held)
      straight.memorize(id, document_text(number), Duplicates::kRefuse);
    straight.checkpoint();
    EXPECT_EQ(digest(path), digest(never)) << "seed " << seed;
  }
}

TEST_F(StoreTest, StatisticsAreThoseOfItsParts) {
  const auto path = store_of("three", {1, 2, 3});
  const MemoStore opened(path);
  const StoreStatistics statistics = statistics_of(opened);
  EXPECT_EQ(statistics.digest, opened.digest());
  EXPECT_EQ(statistics.totals.documents, 3);
  EXPECT_EQ(statistics.totals.pairs, opened.memory().pairs());
  EXPECT_EQ(statistics.memory, opened.config().memory);
  EXPECT_EQ(statistics.tokenizer, "bytes, 257 tokens");
  EXPECT_EQ(statistics.matrix_bytes,
            static_cast<int64_t>(std::filesystem::file_size(path / "memory.safetensors")));
  EXPECT_EQ(statistics.ledger_bytes,
            static_cast<int64_t>(std::filesystem::file_size(path / "ledger.sqlite")));
}

TEST_F(StoreTest, FullnessGrowsWithThePairs) {
  const Fullness empty = statistics_of(MemoStore(store())).fullness;
  EXPECT_EQ(empty.filled, 0);
  EXPECT_EQ(empty.expected_recall_after, (std::vector<double>{1, 1, 1}));
  const MemoStore opened(store_of("three", {1, 2, 3}));
  const Fullness fullness = fullness_of(opened.memory());
  EXPECT_DOUBLE_EQ(fullness.capacity, pair_capacity(opened.config().memory));
  // A longer context is recalled better.
  ASSERT_EQ(fullness.expected_recall_after.size(), 3u);
  EXPECT_LT(fullness.expected_recall_after[0], fullness.expected_recall_after[1]);
  EXPECT_LE(fullness.expected_recall_after[1], fullness.expected_recall_after[2]);
}

TEST_F(StoreTest, SharedPairsFillAStoreAsTheirNoiseDoes) {
  const MemoStore opened(store_of("one", {1}));
  const Fullness fullness = fullness_of(opened.memory());
  const double pairs = opened.memory().pairs();
  EXPECT_NEAR(fullness.filled, pairs / fullness.capacity, 0.05 * fullness.filled);
  memorize(opened.path(), "again", document_text(1));
  EXPECT_DOUBLE_EQ(fullness_of(MemoStore(opened.path()).memory()).filled, 4 * fullness.filled);
}

}  // namespace
}  // namespace tessera::store
