// Any bytes as a store's ledger.sqlite: refused, or everything in it can be read, and what is
// stored and forgotten afterwards comes out right. SQLite tests a page as a whole, so that longer
// mutations get further: run it with -mutate_depth=8.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "fuzz/seeds.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/store/ledger.h"
#include "tessera/store/sqlite.h"
#include "tests/support/temporary_folder.h"

using namespace tessera;
using namespace tessera::store;
using sqlite::Access;

namespace {

constexpr const char* kConfig = "{}";
constexpr int64_t kVocabulary = 300;

void store_document(Ledger& ledger, const std::string& id, int32_t tokens) {
  auto transaction = ledger.transaction();
  auto document = ledger.store(id, [tokens, token = int32_t{-1}]() mutable {
    ++token;
    return std::span<const int32_t>(&token, token < tokens ? 1 : 0);
  });
  document.pairs = tokens;
  ledger.set_pairs(document);
  transaction.commit();
}

void forget_document(Ledger& ledger, const std::string& id) {
  auto transaction = ledger.transaction();
  ledger.forget(*ledger.find(id));
  transaction.commit();
}

/// As if there were files with these digests.
void settle(Ledger& ledger) {
  ledger.settle(std::array<std::string, 2>{"one", "two"});
  ledger.tidy(Readers::kPass);
}

/// A ledger of a few pages of the smallest size: more of its bytes mean something.
std::string small_ledger(bool with_log) {
  const test::TemporaryFolder folder(test::folder_in_memory());
  const auto path = folder / "ledger.sqlite";
  Ledger::create(path, kConfig);
  {
    Ledger ledger(path, Access::kWrite, kConfig, kVocabulary);
    for (const char* id : {"one", "two", "three", "four"}) store_document(ledger, id, 40);
    settle(ledger);
    forget_document(ledger, "two");
  }
  sqlite::Database(path, Access::kWrite)
      .execute("PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM");
  if (with_log) sqlite::Database(path, Access::kWrite).execute("PRAGMA journal_mode = WAL");
  return read_file(path);
}

/// All that can be read from it.
void read(const Ledger& ledger) {
  ledger.check_integrity();
  ledger.totals();
  for (const Change& change : ledger.changes_after(std::min<int64_t>(2, ledger.last_change()))) {
    const memo::TokenPieces pieces = ledger.pieces(change.document);
    while (!pieces().empty()) {
    }
  }
  ledger.token_counts();
  ledger.noted_changes();
}

/// Documents come and go, the others stay what they are.
void write(Ledger& ledger) {
  const auto before = ledger.documents();
  if (ledger.find("new")) return;
  store_document(ledger, "new", 10);
  forget_document(ledger, "new");
  settle(ledger);
  ledger.check_integrity();
  const auto after = ledger.documents();
  const auto is_same = [](const StoredDocument& one, const StoredDocument& other) {
    return one.id == other.id && one.checksum == other.checksum;
  };
  if (!std::ranges::equal(before, after, is_same)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  fuzz::write_seeds(*argc, *argv, {{"log", small_ledger(true)}, {"journal", small_ledger(false)}});
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const test::TemporaryFolder folder(test::folder_in_memory());
  const auto path = folder / "ledger.sqlite";
  for (const char* name : {"ledger.sqlite-wal", "ledger.sqlite-shm", "ledger.sqlite-journal"})
    std::filesystem::remove(folder / name);
  fuzz::write(path, {reinterpret_cast<const char*>(data), size});
  for (const Access access : {Access::kRead, Access::kWrite}) try {
      Ledger ledger(path, access, kConfig, kVocabulary);
      read(ledger);
      if (access == Access::kWrite) write(ledger);
    } catch (const DataError&) {
    } catch (const SystemError&) {  // a file that says it must not be written
    }
  return 0;
}
