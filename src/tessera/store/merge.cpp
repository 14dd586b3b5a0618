#include "tessera/store/merge.h"

#include <map>
#include <memory>

#include "tessera/base/error.h"
#include "tessera/store/detail/new_folder.h"
#include "tessera/store/document_text.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/sqlite.h"

namespace tessera::store {
namespace {

using Stores = std::vector<std::unique_ptr<const MemoStore>>;

Stores open_stores(const std::vector<std::filesystem::path>& paths) {
  check_argument(!paths.empty(), "merge: no stores");
  Stores stores;
  for (const auto& path : paths) stores.push_back(std::make_unique<MemoStore>(path));
  return stores;
}

void check_mergeable(const Stores& stores) {
  const MemoStore& first = *stores.front();
  std::map<std::string, std::pair<std::string, std::string>> holders;  // from id: store, checksum
  for (const auto& store : stores) {
    if (store->config() != first.config())
      throw UsageError(
          "{} has the configuration {}, {} has {}; only stores of equal configuration can be "
          "merged",
          store->path().native(), store->config().text(), first.path().native(),
          first.config().text());
    for (const auto& document : store->ledger().documents()) {
      const auto [holder, is_new] =
          holders.emplace(document.id, std::pair(store->path().native(), document.checksum));
      const auto& [other, checksum] = holder->second;
      if (!is_new && checksum != document.checksum)
        throw UsageError(
            "{} and {} both hold a document '{}', of different texts; forget it in one of them",
            other, store->path().native(), document.id);
    }
  }
}

/// What was copied before is taken out of the memory, where it is twice.
void copy_documents(const MemoStore& store, Ledger& to, memo::TextMemory& memory) {
  const Ledger& from = store.ledger();
  auto transaction = to.transaction();
  for (const StoredDocument& document : from.documents()) {
    if (to.find(document.id)) {
      memory.forget(from.pieces(document));
      continue;
    }
    StoredDocument copy = to.store(document.id, from.pieces(document));
    copy.pairs = document.pairs;
    to.set_pairs(copy);
    to.set_details(copy, from.details(document));
    to.index(copy, whole_text(from, store.tokenizer(), document));
  }
  transaction.commit();
}

}  // namespace

LedgerTotals merge_stores(const std::filesystem::path& out,
                          const std::vector<std::filesystem::path>& paths,
                          const std::function<void(int64_t done)>& on_progress) {
  NewFolder place(out);
  const Stores stores = open_stores(paths);
  check_mergeable(stores);
  const MemoStore& first = *stores.front();
  const StoreLock lock(place.path() / "lock");
  const StoreFolder folder = StoreFolder::create(place.path(), first.config(), first.tokenizer());
  LedgerTotals totals;
  {
    Ledger ledger = folder.open_ledger(sqlite::Access::kWrite);
    memo::TextMemory memory(first.config().memory);
    int64_t done = 0;
    for (const auto& store : stores) {
      memory.merge(store->memory());
      copy_documents(*store, ledger, memory);
      if (on_progress) on_progress(++done);
    }
    folder.settle(ledger, memory);
    totals = ledger.totals();
  }  // closed, so that SQLite removes its own files
  place.commit();
  return totals;
}

}  // namespace tessera::store
