#include "tessera/store/rebuild.h"

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/data/bpe_trainer.h"
#include "tessera/store/detail/new_folder.h"
#include "tessera/store/digest.h"
#include "tessera/store/document_text.h"
#include "tessera/store/memo_writer.h"
#include "tessera/store/sqlite.h"

namespace tessera::store {
namespace {

/// A document's text. Some tokenizers do not give back what they were given.
std::string checked_text(const MemoStore& store, const StoredDocument& document) {
  std::string text = whole_text(store.ledger(), store.tokenizer(), document);
  const std::string digest = store.ledger().details(document).digest;
  if (!digest.empty() && digest != text_digest(text))
    throw DataError(store.path().native(),
                    "the tokens of '{}' do not give back its text, so it cannot be memorized with "
                    "another tokenizer; forget it first, and memorize its file again afterwards",
                    document.id);
  return text;
}

/// Memorizes the documents of `from` in the empty store `to`.
LedgerTotals memorize_again(const MemoStore& from, const std::filesystem::path& to,
                            const std::function<void(int64_t documents)>& on_progress) {
  MemoWriter writer(to);
  int64_t done = 0;
  for (const StoredDocument& document : from.ledger().documents()) {
    InterruptGuard::stop_if_interrupted("interrupted; the store is as it was");
    writer.memorize(document.id, checked_text(from, document), Duplicates::kRefuse);
    DocumentDetails details = writer.ledger().details(writer.ledger().get(document.id));
    details.memorized = from.ledger().details(document).memorized;
    details.metadata = from.ledger().details(document).metadata;
    writer.describe(document.id, details);
    if (on_progress) on_progress(++done);
  }
  writer.checkpoint();
  return writer.ledger().totals();
}

}  // namespace

Tokenizer tokenizer_of_documents(const std::filesystem::path& store, int64_t vocabulary,
                                 const std::function<void(int64_t tokens)>& on_progress) {
  const MemoStore opened(store);
  const auto documents = opened.ledger().documents();
  if (documents.empty())
    throw UsageError(
        "{} holds no documents to learn a tokenizer from; give --tokenizer byte, or "
        "the path of a tokenizer",
        store.native());
  BpeTrainer trainer({.vocabulary_size = vocabulary});
  for (const StoredDocument& document : documents)
    trainer.add_text(whole_text(opened.ledger(), opened.tokenizer(), document));
  return trainer.train(on_progress);
}

LedgerTotals rebuild_store(const std::filesystem::path& store, const Tokenizer& tokenizer,
                           const std::function<void(int64_t documents)>& on_progress) {
  const StoreLock lock(StoreFolder::open(store).lock_path());
  NewFolder::remove_unfinished(store);
  NewFolder place = NewFolder::in_place_of(store);
  LedgerTotals totals;
  {
    const MemoStore from(store);
    const StoreConfig config = StoreConfig::of(from.config().memory, tokenizer);
    const StoreFolder made = StoreFolder::create(place.path(), config, tokenizer);
    {
      Ledger ledger = made.open_ledger(sqlite::Access::kWrite);
      made.settle(ledger, memo::TextMemory(config.memory));
    }
    totals = memorize_again(from, place.path(), on_progress);
  }  // closed, so that SQLite touches no file of the new store
  const auto history = store / "history.jsonl";
  if (is_there(history)) std::filesystem::copy_file(history, place.path() / history.filename());
  place.commit();
  return totals;
}

}  // namespace tessera::store
