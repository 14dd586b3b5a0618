#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tessera/serve/decoder.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/memo_writer.h"
#include "tessera/store/recall.h"

namespace tessera::serve {

/// A store that is read and edited while it is served. From any thread: readers take turns, and so
/// do writers; a reader waits for a writer only while forgotten text is erased, not while a
/// document is memorized or the matrix is written. Edits that wait for the same writer share what
/// follows them: the matrix is written and forgotten text erased once for all of them, before any
/// of them returns. Changes by other processes are seen within half a second.
class ServedStore {
 public:
  /// Throws DataError and SystemError as MemoStore.
  ServedStore(std::string name, std::string folder);

  const std::string& name() const { return name_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }

  /// What readers see: the store at one moment, and its decoder.
  struct Snapshot {
    explicit Snapshot(const std::string& folder) : store(folder) {}
    /// Made at the first call: a pass over the documents.
    const store::StoreReader& reader() const;

    store::MemoStore store;
    mutable std::optional<store::StoreReader> reader_;
  };
  /// Calls `use` with the store as it is now. Throws what `use` throws, and as MemoStore.
  void read(const std::function<void(const Snapshot&)>& use);
  /// The same for what takes long, with a store that is opened for it: other readers go on, and
  /// edits wait as they do for every reader.
  void read_apart(const std::function<void(const Snapshot&)>& use) const;

  using OnTokens = store::MemoWriter::OnTokens;
  /// One document, in one transaction. Throws ApiError: 409 where the id is taken and replace is
  /// false, 422 where the text cannot be stored, 400 for a wrong id, 503 where another process is
  /// writing.
  store::Memorized memorize(const std::string& id, const std::string& text, bool replace,
                            const OnTokens& on_tokens);
  /// Throws ApiError 404 where there is no such document; 503 as memorize().
  store::StoredDocument forget(const std::string& id, const OnTokens& on_tokens);

 private:
  struct Round;

  std::unique_ptr<store::MemoWriter> writer();
  std::unique_ptr<store::MemoWriter> open_writer() const;
  void edit(const std::function<void(store::MemoWriter&)>& change);
  void end_round();
  void checkpoint(store::MemoWriter& writer);
  bool is_stale();
  store::Ledger ledger_now() const;
  void take_snapshot();

  std::string name_, folder_;
  Tokenizer tokenizer_;

  std::atomic<int64_t> waiting_ = 0;  // edits, for writing_
  std::mutex writing_;                // guards the next two
  std::shared_ptr<Round> round_;      // that takes edits, if there is one
  std::condition_variable round_ended_;

  mutable std::mutex reading_apart_;  // held while a reader has a store of its own
  std::mutex reading_;                // guards what follows
  std::unique_ptr<Snapshot> snapshot_;
  int64_t change_ = 0;  // the ledger's last one in the snapshot
  std::chrono::steady_clock::time_point looked_;
};

/// The document of this id. Throws ApiError 404, with the nearest id as a suggestion.
store::StoredDocument document_of(const store::Ledger& ledger, const std::string& id);

/// A store's texts: the next token's probabilities are those of its decoder after the last tokens
/// of the text, as many as the longest window has (LikelihoodDecoder::probabilities).
std::unique_ptr<Decoder> decoder_of(std::shared_ptr<ServedStore> store);

}  // namespace tessera::serve
