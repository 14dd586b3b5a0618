#include "tessera/store/verify.h"

#include <cmath>

#include "tessera/base/error.h"
#include "tessera/store/detail/token_pieces.h"
#include "tessera/store/digest.h"

namespace tessera::store {
namespace {

constexpr double kRounding = 1e-9;  // of an energy, by another processor

int64_t differing_entries(const memo::TextMemory& one, const memo::TextMemory& other) {
  int64_t count = 0;
  for (size_t s = 0; s < one.shards().size(); ++s) {
    const auto &its = one.shards()[s].matrix(), &others = other.shards()[s].matrix();
    for (int64_t row = 0; row < its.rows(); ++row)
      for (int64_t column = 0; column < its.columns(); ++column)
        count += its.entry(row, column) != others.entry(row, column);
  }
  return count;
}

/// What the files say of their matrices, on which others rely who do not read them.
void check_state(const MemoStore& store, const std::string& digest) {
  if (store.digest() != digest)
    throw DataError(
        store.path().native(),
        "its matrix files say that the digest is {}, but it is {}; 'tessera memo verify "
        "--repair' writes them again",
        store.digest(), digest);
  for (const memo::MemoryShard& shard : store.memory().shards())
    if (std::abs(shard.energy() - shard.matrix().energy()) > kRounding * shard.energy())
      throw DataError(store.path().native(),
                      "its matrix files say that the energy of a matrix is {}, but it is {}; "
                      "'tessera memo verify --repair' writes them again",
                      shard.energy(), shard.matrix().energy());
}

}  // namespace

Verification verify(const MemoStore& store, const OnProgress& on_progress) {
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
  const std::string expected = content_digest(store.config().text(), memory);
  const std::string found = content_digest(store.config().text(), store.memory());
  if (found != expected)
    throw DataError(store.path().native(),
                    "the memory is not the one that its {} documents give: {} entries differ, its "
                    "digest is {}, expected {}; 'tessera memo verify --repair' rebuilds it from "
                    "the documents",
                    totals.documents, differing_entries(store.memory(), memory), found, expected);
  check_state(store, found);
  return {totals, found, ledger.erasure_pending(), ledger.unerased(), ledger.log_bytes()};
}

}  // namespace tessera::store
