#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "tessera/base/interrupt.h"
#include "tessera/data/tokenizer.h"
#include "tessera/store/ledger.h"

namespace tessera::store {

/// Creates a store that holds the documents of all `stores`, in their order. Its memory is the sum
/// of theirs, less what several hold identically, the same bits as memorizing all documents into
/// one store. It appears as a whole or not at all; the others stay unchanged. Throws UsageError if
/// the stores differ in their configuration, if two hold different texts, or different values of
/// one key of metadata, under the same id, or if `out` already exists. It takes the memory and
/// the open files of two stores, however many are merged. While an InterruptGuard lives, a signal
/// ends it with Interrupted, and nothing is created. on_progress: stores.
LedgerTotals merge_stores(const std::filesystem::path& out,
                          const std::vector<std::filesystem::path>& stores,
                          const OnProgress& on_progress = {});

/// A byte-level BPE vocabulary of at most this size, learned from the documents that a store holds
/// now. Throws UsageError if it holds none; DataError and SystemError as MemoStore.
Tokenizer tokenizer_of_documents(const std::filesystem::path& store, int64_t vocabulary,
                                 const OnProgress& on_progress = {});

/// Gives a store another tokenizer: memorizes its documents again in a new folder beside it, with
/// their times and metadata, and puts that in its place in one step. A process killed at any moment
/// leaves the store before it or after it. The store then has the digest of one that was created
/// with this tokenizer. make_tokenizer: called while no other process writes; a tokenizer that it
/// learns from the documents knows none that is forgotten by then. The folder above must be
/// writable. Throws std::runtime_error if another process is writing; DataError if a document's
/// tokens do not give back the text that was memorized, or if the folder holds a file that is not
/// the store's; DataError and SystemError as MemoStore. While an InterruptGuard lives, a signal
/// ends it with Interrupted, and the store stays as it was. on_progress: documents.
LedgerTotals rebuild_store(const std::filesystem::path& store,
                           const std::function<Tokenizer()>& make_tokenizer,
                           const OnProgress& on_progress = {});

}  // namespace tessera::store
