#include "tessera/store/merge.h"

#include <map>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/new_folder.h"
#include "tessera/data/bpe_trainer.h"
#include "tessera/store/detail/history.h"
#include "tessera/store/digest.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/memo_writer.h"
#include "tessera/store/text_search.h"

namespace tessera::store {

namespace {

/// The first store that holds a document, and what tells the document's text from others. Texts of
/// equal tokens may differ, where the tokenizer does not give them back.
struct Holder {
  std::string store, checksum, digest;  // digest: "" if unknown
  std::map<std::string, std::pair<std::string, std::string>> metadata = {};  // and whose it is

  bool has(const Holder& other) const {
    const bool may_differ = !digest.empty() && !other.digest.empty();
    return checksum == other.checksum && (!may_differ || digest == other.digest);
  }
};

using Holders = std::map<std::string, Holder>;  // by id of the document

/// Refuses a store that does not fit the first one or those whose documents are held already.
void check_mergeable(const MemoStore& store, const StoreFolder& first, Holders& holders) {
  if (store.config() != first.config())
    throw UsageError(
        "{} has the configuration {}, {} has {}; only stores of equal configuration can be merged",
        store.path().native(), store.config().text(), first.path().native(), first.config().text());
  for (const auto& document : store.ledger().documents()) {
    const DocumentDetails details = store.ledger().details(document);
    const Holder holder = {store.path().native(), document.checksum, details.digest};
    Holder& known = holders.emplace(document.id, holder).first->second;
    if (!known.has(holder))
      throw UsageError(
          "{} and {} both hold a document '{}', of different texts; forget it in one of them",
          known.store, holder.store, document.id);
    for (const auto& [key, value] : details.metadata) {
      const auto& [other, whose] =
          known.metadata.emplace(key, std::pair(value, holder.store)).first->second;
      if (other != value)
        throw UsageError(
            "{} and {} both hold a document '{}', with {}={} and {}={}; memorize it with the right "
            "one in both",
            whose, holder.store, document.id, key, other, key, value);
    }
  }
}

/// What was copied before is taken out of the memory, where it is twice.
void copy_documents(const MemoStore& store, Ledger& to, memo::TextMemory& memory) {
  const Ledger& from = store.ledger();
  auto transaction = to.transaction();
  for (const StoredDocument& document : from.documents()) {
    if (const auto known = to.find(document.id)) {
      memory.forget(from.pieces(document));
      DocumentDetails details = to.details(*known);
      details.metadata.merge(from.details(document).metadata);
      to.set_details(*known, details);
      continue;
    }
    StoredDocument copy = to.store(document.id, from.pieces(document));
    copy.pairs = document.pairs;
    to.set_pairs(copy);
    to.set_details(copy, from.details(document));
    to.index(copy, memorized_text(from, store.tokenizer(), document));
  }
  transaction.commit();
}

}  // namespace

LedgerTotals merge_stores(const std::filesystem::path& out,
                          const std::vector<std::filesystem::path>& paths,
                          const OnProgress& on_progress) {
  NewFolder place(out);
  check_argument(!paths.empty(), "merge: no stores");
  const StoreFolder first = StoreFolder::open(paths.front());
  // One store is open at a time: there may be more than a process may have open files.
  Holders checked, copied;
  for (const auto& path : paths) check_mergeable(MemoStore(path), first, checked);
  const FileLock lock = StoreFolder::lock(place.path());
  const StoreFolder folder = StoreFolder::create(place.path(), first.config(), first.tokenizer());
  LedgerTotals totals;
  {
    Ledger ledger = folder.open_ledger(sqlite::Access::kWrite);
    memo::TextMemory memory(first.config().memory);
    int64_t done = 0;
    for (const auto& path : paths) {
      const MemoStore store(path);
      check_mergeable(store, first, copied);  // it may have changed meanwhile
      memory.merge(store.memory());
      copy_documents(store, ledger, memory);
      if (on_progress) on_progress(++done, std::ssize(paths));
    }
    folder.settle(ledger, memory);
    totals = ledger.totals();
  }  // closed, so that SQLite removes its own files
  InterruptGuard::stop_if_interrupted("interrupted; nothing was created");
  place.commit();
  return totals;
}

namespace {

constexpr const char* kAsItWas = "interrupted; the store is as it was";

std::string checked_text(const MemoStore& store, const StoredDocument& document) {
  std::string text = memorized_text(store.ledger(), store.tokenizer(), document);
  const std::string digest = store.ledger().details(document).digest;
  if (!digest.empty() && digest != text_digest(text))
    throw DataError(store.path().native(),
                    "the tokens of '{}' do not give back its text, so it cannot be memorized with "
                    "another tokenizer; forget it first, and memorize its file again afterwards",
                    document.id);
  return text;
}

/// With what was forgotten in `from`, and goes with its files. Last, as somebody may begin a
/// history meanwhile.
void take_history(const MemoStore& from, const std::filesystem::path& to, const Ledger& rebuilt) {
  const auto history = from.path() / StoreFolder::kHistoryFile;
  if (is_there(history)) std::filesystem::copy_file(history, to / history.filename());
  note_in_history(to, from.ledger(), rebuilt.settled_digests());
}

/// Memorizes the documents of `from` in the empty store `to`, which gets the history of `from`.
LedgerTotals memorize_again(const MemoStore& from, const std::filesystem::path& to,
                            const OnProgress& on_progress) {
  MemoWriter writer(to);
  const auto documents = from.ledger().documents();
  int64_t done = 0;
  for (const StoredDocument& document : documents) {
    InterruptGuard::stop_if_interrupted(kAsItWas);
    writer.memorize(document.id, checked_text(from, document), Duplicates::kRefuse);
    DocumentDetails details = writer.ledger().details(writer.ledger().get(document.id));
    details.memorized = from.ledger().details(document).memorized;
    details.metadata = from.ledger().details(document).metadata;
    writer.describe(document.id, details);
    if (on_progress) on_progress(++done, std::ssize(documents));
  }
  writer.checkpoint();
  take_history(from, to, writer.ledger());
  return writer.ledger().totals();
}

}  // namespace

Tokenizer tokenizer_of_documents(const std::filesystem::path& store, int64_t vocabulary,
                                 const OnProgress& on_progress) {
  const MemoStore opened(store);
  const auto documents = opened.ledger().documents();
  if (documents.empty())
    throw UsageError(
        "{} holds no documents to learn a tokenizer from; give --tokenizer byte, or "
        "the path of a tokenizer",
        store.native());
  BpeTrainer trainer({.vocabulary_size = vocabulary});
  for (const StoredDocument& document : documents)
    trainer.add_text(memorized_text(opened.ledger(), opened.tokenizer(), document));
  return trainer.train(on_progress);
}

LedgerTotals rebuild_store(const std::filesystem::path& store,
                           const std::function<Tokenizer()>& make_tokenizer,
                           const OnProgress& on_progress) {
  const StoreFolder folder = StoreFolder::open(store);
  const FileLock lock = StoreFolder::lock(store);
  remove_unfinished_files(store);
  folder.check_files();
  NewFolder place = NewFolder::in_place_of(store);  // throws before what may take long
  const Tokenizer tokenizer = make_tokenizer();
  LedgerTotals totals;
  {
    const MemoStore from(store);
    StoreFolder::create_empty(place.path(), StoreConfig::of(from.config().memory, tokenizer),
                              tokenizer);
    totals = memorize_again(from, place.path(), on_progress);
  }  // closed, so that SQLite touches no file of the new store
  InterruptGuard::stop_if_interrupted(kAsItWas);
  folder.check_files();  // what has come meanwhile
  place.commit();
  return totals;
}

}  // namespace tessera::store
