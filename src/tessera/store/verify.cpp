#include "tessera/store/verify.h"

#include "tessera/base/error.h"
#include "tessera/store/digest.h"
#include "tessera/store/token_pieces.h"

namespace tessera::store {
namespace {

int64_t differing_entries(const memo::ExactCorrelationMemory& one,
                          const memo::ExactCorrelationMemory& other) {
  int64_t count = 0;
  for (int64_t row = 0; row < one.rows(); ++row)
    for (int64_t column = 0; column < one.columns(); ++column)
      count += one.entry(row, column) != other.entry(row, column);
  return count;
}

}  // namespace

Verification verify(const MemoStore& store,
                    const std::function<void(int64_t done, int64_t tokens)>& on_progress) {
  const Ledger& ledger = store.ledger();
  ledger.check_integrity();
  const LedgerTotals totals = ledger.totals();
  memo::TextMemory memory(store.config().memory);
  int64_t done = 0;
  for (const StoredDocument& document : ledger.documents()) {
    const int64_t pairs = memory.memorize(watched(ledger.pieces(document), [&](int64_t tokens) {
      if (on_progress) on_progress(done + tokens, totals.tokens);
    }));
    if (pairs != document.pairs)
      throw DataError(ledger.path(),
                      "document '{}' gives {} pairs, the ledger says that it wrote {}", document.id,
                      pairs, document.pairs);
    ledger.check_index(document);
    done += document.tokens;
  }
  const std::string expected = content_digest(store.config().text(), memory.matrix());
  const std::string found = store.digest();
  if (found != expected)
    throw DataError(store.path().native(),
                    "the memory is not the one that its {} documents give: {} of {} entries "
                    "differ, its digest is {}, expected {}; 'tessera memo verify --repair' "
                    "rebuilds it from the documents",
                    totals.documents, differing_entries(store.memory().matrix(), memory.matrix()),
                    memory.matrix().rows() * memory.matrix().columns(), found, expected);
  return {totals, found, ledger.erasure_pending(), ledger.unerased()};
}

}  // namespace tessera::store
