// A store of several matrices keeps the promises of one: exact forgetting, merging, repair, and
// the state before or after a change at every moment.

#include <functional>
#include <limits>

#include "tessera/base/error.h"
#include "tessera/base/safetensors.h"
#include "tessera/store/detail/matrix_file.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/merge.h"
#include "tessera/store/recall.h"
#include "tests/store/small_stores.h"

namespace tessera::store {
namespace {

constexpr int32_t kShards = 3;

class ShardedStore : public StoreTest {
 protected:
  ShardedStore()
      : StoreTest([] {
          memo::TextMemoryConfig memory = small_memory();
          memory.shards = kShards;
          return memory;
        }()) {}

  static std::filesystem::path shard_file(const std::filesystem::path& store, int shard) {
    return store / ("memory-000" + std::to_string(shard) + ".safetensors");
  }
  /// Its next file, until that is put in place.
  static std::filesystem::path beside(const std::filesystem::path& store, int shard) {
    return shard_file(store, shard).native() + ".settled";
  }
};

TEST_F(ShardedStore, HasAFileForEachShard) {
  EXPECT_THAT(read_file(store() / "config.json"), HasSubstr("\"format\": 2"));
  EXPECT_THAT(read_file(store() / "config.json"), HasSubstr("\"shards\": 3"));
  EXPECT_FALSE(std::filesystem::exists(store() / "memory.safetensors"));
  memorize(store(), "one", document_text(1));
  int64_t bytes = 0;
  for (int shard = 0; shard < kShards; ++shard)
    bytes += std::filesystem::file_size(shard_file(store(), shard));
  const StoreStatistics statistics = statistics_of(MemoStore(store()));
  EXPECT_EQ(statistics.matrix_bytes, bytes);
  EXPECT_EQ(statistics.memory.shards, kShards);
  EXPECT_EQ(statistics.fullness.capacity, kShards * pair_capacity([&] {
                                            auto single = statistics.memory;
                                            single.shards = 1;
                                            return single;
                                          }()));
  EXPECT_FALSE(std::filesystem::exists(shard_file(store(), kShards)));
}

TEST_F(ShardedStore, ForgettingLeavesAStoreThatNeverHeldIt) {
  const std::string expected = digest(store_of("never", {1, 3}));
  for (const std::vector<int>& order : {std::vector<int>{1, 2, 3}, {2, 3, 1}}) {
    const auto path = store_of("store" + std::to_string(order[0]), order);
    EXPECT_NE(digest(path), expected);
    forget(path, "2");
    EXPECT_EQ(digest(path), expected);
    EXPECT_EQ(verify(MemoStore(path)).digest, expected);
  }
  for (const std::string id : {"1", "3"}) forget(store("never"), id);
  EXPECT_EQ(digest(store("never")), digest(store()));
}

TEST_F(ShardedStore, RecitesWhatItHolds) {
  const MemoStore opened(store_of("texts", {1, 2, 3}));
  const std::string text = document_text(2);
  const Recall recital = recall(opened, opened.tokenizer().encode(text.substr(0, 20)), {});
  EXPECT_EQ(text.substr(0, 20) + text_of(recital), text);
  EXPECT_EQ(recital.finish, Finish::kEndOfText);
}

TEST_F(ShardedStore, IsMergedWithItsLikeAlone) {
  const auto odd = store_of("odd", {1, 3}), even = store_of("even", {2, 4});
  merge_stores(store("merged"), {odd, even});
  EXPECT_EQ(digest(store("merged")), digest(store_of("whole", {4, 3, 2, 1})));
  EXPECT_EQ(complaint("merged"), "");
  MemoStore::create(store("single"), small_memory(), byte_tokenizer());
  EXPECT_THAT(message_of<UsageError>([&] {
                merge_stores(store("both"), {odd, store("single")});
              }),
              HasSubstr("only stores of equal configuration can be merged"));
}

TEST_F(ShardedStore, IsExportedShardByShard) {
  memorize(store(), "one", document_text(1));
  const MemoStore opened(store());
  export_memory(opened, folder_ / "out.safetensors");
  const auto file = safetensors::File::open(folder_ / "out.safetensors");
  ASSERT_EQ(file.tensors().size(), 3u);
  for (size_t shard = 0; shard < 3; ++shard)
    EXPECT_TRUE(std::ranges::equal(file.at("C." + std::to_string(shard)).bytes,
                                   opened.memory().shards()[shard].matrix().bytes()));
  EXPECT_EQ(file.metadata().at("digest"), opened.digest());
  EXPECT_THAT(file.metadata().at("config"), HasSubstr("\"shards\":3"));
}

TEST_F(ShardedStore, KeepsItsShardsUnderAnotherTokenizer) {
  memorize(store(), "one", document_text(1));
  const Tokenizer letters = Tokenizer::characters(document_text(1) + "\n", EndOfText::kPresent);
  rebuild_store(store(), [&] { return letters; });
  EXPECT_EQ(MemoStore(store()).config().memory.shards, kShards);
  EXPECT_EQ(complaint(), "");
}

/// A checkpoint writes new files beside the old ones, settles the ledger and puts them in place one
/// by one. Wherever a process is killed, the store is the same, and goes on.
TEST_F(ShardedStore, RecoversWhereverACheckpointIsKilled) {
  const auto expect_same = [&](const std::string& expected, const std::string& moment) {
    EXPECT_EQ(digest(store("found")), expected) << moment;
    EXPECT_EQ(complaint("found"), "") << moment;
    memorize(store("found"), "more", document_text(9));
    forget(store("found"), "more");
    EXPECT_EQ(digest(store("found")), expected) << moment;
    for (int shard = 0; shard < kShards; ++shard)
      EXPECT_FALSE(std::filesystem::exists(beside(store("found"), shard))) << moment;
    std::filesystem::remove_all(store("found"));
  };
  const auto after_each_kill = [&](const std::function<void(MemoWriter&)>& change) {
    {
      MemoWriter writer(store());
      change(writer);
      std::filesystem::copy(store(), store("killed"));
      writer.checkpoint();
    }
    const std::string expected = digest(store());
    for (int done = 0; done < 1 << kShards; ++done) {
      const auto is_done = [&](int shard) { return (done >> shard & 1) != 0; };
      std::filesystem::copy(store("killed"), store("found"));
      for (int shard = 0; shard < kShards; ++shard)
        if (is_done(shard))
          std::filesystem::copy(shard_file(store(), shard), beside(store("found"), shard));
      expect_same(expected, "before the ledger is settled, " + std::to_string(done));
      std::filesystem::copy(store(), store("found"));
      for (int shard = 0; shard < kShards; ++shard) {
        if (is_done(shard)) continue;
        std::filesystem::rename(shard_file(store("found"), shard), beside(store("found"), shard));
        std::filesystem::copy(shard_file(store("killed"), shard),
                              shard_file(store("found"), shard));
      }
      expect_same(expected, "after it is settled, " + std::to_string(done));
    }
    std::filesystem::remove_all(store("killed"));
  };
  after_each_kill([](MemoWriter& writer) {
    for (const int number : {1, 2})
      writer.memorize(std::to_string(number), document_text(number), Duplicates::kRefuse);
  });
  after_each_kill([](MemoWriter& writer) { writer.forget("1"); });
  after_each_kill([](MemoWriter& writer) { writer.memorize("3", "ab", Duplicates::kRefuse); });
  after_each_kill([](MemoWriter& writer) { writer.forget("3"); });
}

/// One pair changes one shard. The other files are those of before, and the ledger knows that they
/// contain everything.
TEST_F(ShardedStore, OnlyTheFilesOfChangedShardsAreWritten) {
  memorize(store(), "one", document_text(1));
  const std::string before = digest(store());
  const auto contents = [&] {
    std::vector<std::string> files;
    for (int shard = 0; shard < kShards; ++shard)
      files.push_back(read_file(shard_file(store(), shard)));
    return files;
  };
  const auto changed_by = [&](const std::function<void()>& change) {
    const auto old = contents();
    change();
    const auto now = contents();
    EXPECT_EQ(complaint(), "");
    return std::vector{old[0] != now[0], old[1] != now[1], old[2] != now[2]};
  };
  const auto changed = changed_by([&] { memorize(store(), "pair", "ab"); });
  EXPECT_EQ(std::ranges::count(changed, true), 1);
  EXPECT_NE(digest(store()), before);
  EXPECT_EQ(changed_by([&] { forget(store(), "pair"); }), changed);
  EXPECT_EQ(digest(store()), before);
  const std::vector<bool> none(kShards), all(kShards, true);
  EXPECT_EQ(changed_by([&] { memorize(store(), "no pair", "a"); }), none);
  EXPECT_EQ(changed_by([&] { memorize(store(), "two", document_text(2)); }), all);
}

TEST_F(ShardedStore, AnOlderFileOfAShardIsNoticed) {
  memorize(store(), "one", document_text(1));
  std::filesystem::copy(store(), store("older"));
  memorize(store(), "two", document_text(2));
  for (int shard = 0; shard < kShards; ++shard) {
    const std::string whole = read_file(shard_file(store(), shard));
    overwrite(shard_file(store(), shard), read_file(shard_file(store("older"), shard)));
    EXPECT_THAT(complaint(), HasSubstr("is older or newer than the ledger beside it")) << shard;
    overwrite(shard_file(store(), shard), whole);
  }
  EXPECT_EQ(complaint(), "");
}

/// What is not needed is not read: damage is named by whoever needs the shard, and by verify.
TEST_F(ShardedStore, DamageOfAShardIsNamedWhenItIsNeeded) {
  memorize(store(), "one", document_text(1));
  const std::string before = digest(store());
  std::string damaged = read_file(shard_file(store(), 1));
  damaged.back() ^= 1;
  overwrite(shard_file(store(), 1), damaged);
  const std::string named = "memory-0001.safetensors: is damaged: its checksum";
  {
    const MemoStore opened(store());
    EXPECT_EQ(statistics_of(opened).digest, before);
    EXPECT_GT(opened.memory().noise(), 0);
    EXPECT_NO_THROW(opened.memory().shards()[0].matrix());
    EXPECT_THAT(message_of<DataError>([&] { opened.memory().shards()[1].matrix(); }),
                HasSubstr(named));
    EXPECT_THAT(message_of<DataError>([&] {
                  recall(opened, opened.tokenizer().encode(document_text(1).substr(0, 12)), {});
                }),
                HasSubstr(named));
    EXPECT_THAT(message_of<DataError>([&] { verify(opened); }), HasSubstr(named));
  }
  EXPECT_THAT(message_of<DataError>([&] { memorize(store(), "two", document_text(2)); }),
              HasSubstr(named));
  MemoWriter writer(store());
  writer.rebuild();
  writer.checkpoint();
  EXPECT_EQ(complaint(), "");
  EXPECT_EQ(digest(store()), before);
}

TEST_F(ShardedStore, DamageOfAHeaderIsNamedAtOnce) {
  memorize(store(), "one", document_text(1));
  const auto open_altered = [&](int shard, const std::function<void(std::string&)>& alter) {
    const std::string whole = read_file(shard_file(store(), shard));
    std::string altered = whole;
    alter(altered);
    EXPECT_NE(altered, whole);
    overwrite(shard_file(store(), shard), altered);
    const std::string message = message_of<DataError>([&] { MemoStore opened(store()); });
    overwrite(shard_file(store(), shard), whole);
    EXPECT_EQ(complaint(), "");
    return message;
  };
  for (const std::string name : {"energy", "digest", "pairs", "change"})
    EXPECT_THAT(open_altered(2,
                             [&](std::string& bytes) {
                               const size_t value = bytes.find("\"" + name + "\":\"");
                               ++bytes.at(value + name.size() + 4);
                             }),
                HasSubstr("memory-0002.safetensors: is damaged: the checksum of its state"))
        << name;
  EXPECT_THAT(
      open_altered(2, [&](std::string& bytes) { bytes = read_file(shard_file(store(), 1)); }),
      HasSubstr("memory-0002.safetensors: holds shard 1, expected shard 2"));
  EXPECT_THAT(open_altered(0, [](std::string& bytes) { bytes.clear(); }),
              HasSubstr("memory-0000.safetensors"));
  std::filesystem::remove(shard_file(store(), 0));
  EXPECT_THAT(complaint(), HasSubstr("memory-0000.safetensors: is missing"));
}

/// With right checksums, as somebody writes them who means harm.
TEST_F(ShardedStore, RefusesStatesThatNoMatrixHas) {
  memorize(store(), "one", document_text(1));
  const StoreConfig config = StoreConfig::load(store() / "config.json");
  const auto write = [&](int64_t pairs, double energy) {
    const memo::MemoryShard shard(pairs, energy, [&] {
      return memo::ExactCorrelationMemory(config.memory.dimension, config.memory.dimension);
    });
    MatrixFile::write(shard_file(store(), 1), config, 1, shard);
  };
  write(INT64_MAX, 1);
  EXPECT_THAT(complaint(), HasSubstr("memory-0001.safetensors: its metadata 'pairs' is '92233"));
  write(1, std::numeric_limits<double>::infinity());
  EXPECT_THAT(complaint(), HasSubstr("memory-0001.safetensors: its metadata 'energy' is 'inf', "
                                     "expected a finite number of at least 0; "));
}

TEST_F(ShardedStore, RefusesNumbersThatDoNotFit) {
  const std::string config = read_file(store() / "config.json");
  const auto complaint_of = [&](const std::string& from, const std::string& to) {
    std::string altered = config;
    altered.replace(altered.find(from), from.size(), to);
    overwrite(store() / "config.json", altered);
    return complaint();
  };
  EXPECT_THAT(complaint_of("\"shards\": 3", "\"shards\": 0"), HasSubstr("shards is 0"));
  EXPECT_THAT(complaint_of("\"shards\": 3", "\"shards\": -1"), HasSubstr("shards is -1"));
  EXPECT_THAT(complaint_of("\"shards\": 3", "\"shards\": 4097"), HasSubstr("expected 1 to 4096"));
  EXPECT_THAT(complaint_of("\"shards\": 3", "\"shards\": 9999999999"), HasSubstr("shards"));
  EXPECT_THAT(complaint_of("\"shards\": 3", "\"shards\": 4"), HasSubstr("was created with"));
  EXPECT_THAT(complaint_of("\"shards\": 3", "\"shards\": 1"), HasSubstr("format 2 and 1 shards"));
  EXPECT_THAT(complaint_of("\"shards\": 3,", ""), HasSubstr("lacks 'shards'"));
  EXPECT_THAT(complaint_of("\"format\": 2", "\"format\": 1"), HasSubstr("format 1 and 3 shards"));
  overwrite(store() / "config.json", config);
  EXPECT_EQ(complaint(), "");
  for (const int32_t shards : {0, -1, 4097}) {
    memo::TextMemoryConfig refused = small_memory();
    refused.shards = shards;
    EXPECT_THROW(MemoStore::create(store("refused"), refused, byte_tokenizer()), UsageError);
    EXPECT_FALSE(std::filesystem::exists(store("refused")));
  }
}

}  // namespace
}  // namespace tessera::store
