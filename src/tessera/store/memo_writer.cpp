#include "tessera/store/memo_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <stdexcept>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/utf8.h"
#include "tessera/store/detail/history.h"
#include "tessera/store/detail/matrix_file.h"
#include "tessera/store/detail/token_pieces.h"
#include "tessera/store/digest.h"
#include "tessera/store/text_search.h"

namespace tessera::store {
namespace {

constexpr size_t kLongestId = 4096;           // bytes
constexpr size_t kLongestMetadata = 1 << 20;  // bytes of a key and its value
constexpr double kSecondsUnsynced = 1;        // a sync takes as long as several short documents
constexpr double kEditsForWriting = 20;  // seconds of edits for each second of writing the matrix

/// Calls `look`, which looks at a text alone.
template <typename Look>
auto of_text(const Look& look) {
  try {
    return look();
  } catch (const DataError& error) {
    throw TextError(error);
  }
}

/// SQLite would call the ledger damaged that is to hold more.
void check_metadata(const Metadata& metadata) {
  for (const auto& [key, value] : metadata)
    check_argument(key.size() + value.size() <= kLongestMetadata,
                   "metadata of {} bytes, at most {} are kept for one key",
                   key.size() + value.size(), kLongestMetadata);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

MemoWriter::MemoWriter(const std::filesystem::path& path)
    : folder_(StoreFolder::open(path)),
      lock_(StoreFolder::lock(folder_.path())),
      ledger_(folder_.open_ledger(sqlite::Access::kWrite)),
      encoder_(folder_.tokenizer()) {
  remove_unfinished_files(folder_.path());
  remove_unfinished(std::filesystem::canonical(folder_.path()));
  folder_.put_in_place(ledger_);
  finish_erasure();
  index_documents();
}

/// Those that an earlier version stored, one by one.
void MemoWriter::index_documents() {
  for (const StoredDocument& document : ledger_.unindexed()) {
    auto transaction = ledger_.transaction();
    ledger_.index(document, whole_text(ledger_, folder_.tokenizer(), document));
    commit(transaction);
  }
}

void MemoWriter::finish_erasure() {
  if (!ledger_.erasure_pending()) return;
  try {
    checkpoint(Readers::kPass);
  } catch (const std::exception&) {  // no reason to refuse other work; checkpoint() will say why
  }
}

void MemoWriter::check_id(const std::string& id, Duplicates duplicates) const {
  if (id.empty()) throw UsageError("the id of a document is empty");
  if (id.size() > kLongestId)
    throw UsageError("the id of a document has {} bytes, at most {} are allowed", id.size(),
                     kLongestId);
  if (!utf8::is_printable(id))
    throw UsageError(
        "the id of a document, '{}', is not UTF-8 or has control characters; rename the file, or "
        "give it another id",
        utf8::printable_line(id));
  if (duplicates == Duplicates::kRefuse && ledger_.find(id))
    throw UsageError("'{}' is stored already; replace it, or forget it first", id);
}

Memorized MemoWriter::memorize(const std::string& id, std::string_view text, Duplicates duplicates,
                               const OnProgress& on_progress, const Metadata& metadata,
                               Times times) {
  check_id(id, duplicates);
  check_metadata(metadata);
  if (text.empty()) throw TextError(id, "is empty; there is nothing to memorize");
  of_text([&] { utf8::check_text(text, id); });
  const auto known = ledger_.find(id);
  if (const auto kept = known ? keep(*known, text, metadata) : std::nullopt) return *kept;
  load();
  const auto started = Clock::now();
  auto transaction = ledger_.transaction();
  const int64_t now = times == Times::kKept ? std::time(nullptr) : 0;
  DocumentDetails details{std::ssize(text), now, text_digest(text), metadata};
  if (known) {
    details.metadata.merge(ledger_.details(*known).metadata);
    ledger_.forget(*known);
  }
  StoredDocument document = ledger_.store(id, encoded(id, text, on_progress));
  memo::TextMemory memory = take();
  if (known) memory.forget(ledger_.pieces(*known));
  document.pairs = memory.memorize(stored(document, on_progress));
  ledger_.set_pairs(document);
  ledger_.set_details(document, details);
  ledger_.index(document, text);
  commit(transaction);
  put_back(std::move(memory), started);
  return known ? Memorized::kReplaced : Memorized::kNew;
}

/// Brings a stored document's details up to date, if it has this text.
std::optional<Memorized> MemoWriter::keep(const StoredDocument& known, std::string_view text,
                                          const Metadata& metadata) {
  const DocumentDetails before = ledger_.details(known);
  DocumentDetails details{std::ssize(text), before.memorized, text_digest(text), metadata};
  details.metadata.insert(before.metadata.begin(), before.metadata.end());
  if (known_details(ledger_, tokenizer(), known).digest != details.digest) return std::nullopt;
  if (details != before) describe(known.id, details);
  return details.metadata == before.metadata ? Memorized::kUnchanged : Memorized::kDescribed;
}

void MemoWriter::describe(const std::string& id, const DocumentDetails& details) {
  const StoredDocument document = ledger_.get(id);
  check_metadata(details.metadata);
  auto transaction = ledger_.transaction();
  ledger_.set_details(document, details);
  commit(transaction);
}

/// The document's tokens: those of its text, then the end of text, if the tokenizer has one.
memo::TokenPieces MemoWriter::encoded(const std::string& id, std::string_view text,
                                      const OnProgress& on_progress) {
  return [&id, &on_progress, most = memo::TextMemory::most_tokens(config().memory),
          pieces = encoder_.pieces(text), end = encoder_.tokenizer().end_of_text(),
          tokens = int64_t{0}, ended = false]() mutable -> std::span<const int32_t> {
    if (on_progress) on_progress(0, 0);
    const auto piece = of_text([&] { return saying_source(id, pieces); });
    tokens += std::ssize(piece);
    if (tokens > most)
      throw TextError(id,
                      "has more than {} tokens; the windows of one document must fit in the memory "
                      "of this machine, split it into several documents",
                      most);
    if (!piece.empty() || ended || !end) return piece;
    ended = true;
    return {&*end, 1};
  };
}

memo::TokenPieces MemoWriter::stored(const StoredDocument& document,
                                     const OnProgress& on_progress) const {
  return watched(ledger_.pieces(document), [=](int64_t done) {
    if (on_progress) on_progress(done, document.tokens);
  });
}

void MemoWriter::forget(const std::string& id, const OnProgress& on_progress) {
  const StoredDocument document = ledger_.get(id);
  const DocumentDetails details = known_details(ledger_, tokenizer(), document);
  load();
  const auto started = Clock::now();
  auto transaction = ledger_.transaction();
  ledger_.forget(document);
  ledger_.note_forgotten(document, details, file_bytes(folder_.path() / StoreFolder::kHistoryFile));
  memo::TextMemory memory = take();
  memory.forget(stored(document, on_progress));
  commit(transaction);
  put_back(std::move(memory), started);
}

void MemoWriter::commit(sqlite::Transaction& transaction) {
  transaction.commit();
  is_synced_ = false;
  if (seconds_since(synced_) > kSecondsUnsynced) sync();
}

/// To be called before files are written that name what was committed.
void MemoWriter::sync() {
  if (is_synced_) return;
  ledger_.sync();
  is_synced_ = true;
  synced_ = Clock::now();
}

void MemoWriter::load() {
  if (memory_) return;
  const std::vector<MatrixFile> files = folder_.open_matrices(ledger_);
  memory_ = folder_.memory(files, ledger_);
  const std::vector<std::string> settled = ledger_.settled_digests();
  in_place_.assign(files.size(), {});
  beside_ = in_place_;
  for (size_t s = 0; s < settled.size(); ++s)
    if (files[s].state().digest == settled[s] && files[s].state().change == 0)
      in_place_[s] = {settled[s], 0};
}

/// Moves the memory out while it is edited: if the edit fails, the memory is discarded and the next
/// call reads it from the files again.
memo::TextMemory MemoWriter::take() {
  memo::TextMemory memory = std::move(*memory_);
  memory_.reset();
  return memory;
}

void MemoWriter::put_back(memo::TextMemory memory, Clock::time_point started) {
  memory_ = std::move(memory);
  seconds_of_edits_ += seconds_since(started);
  if (seconds_of_edits_ > kEditsForWriting * seconds_of_writing_) keep_work();
}

/// Whether the file in place holds what the shard holds, and shows nothing else.
bool MemoWriter::is_settled(size_t shard) const {
  return in_place_[shard].edits == memory_->shards()[shard].edits();
}

/// Whether a file in place or beside it holds what the shard holds.
bool MemoWriter::is_written(size_t shard) const {
  return is_settled(shard) || beside_[shard].edits == memory_->shards()[shard].edits();
}

/// So that the next to open the store need not redo the work if this process is killed. It is no
/// loss where the disk is full: checkpoint() will say so.
void MemoWriter::keep_work() {
  const auto started = Clock::now();
  seconds_of_edits_ = 0;
  const std::vector<std::string> settled = ledger_.settled_digests();
  if (settled.size() != in_place_.size()) return;  // of an earlier version
  if (!lock_.is_in_place()) return;                // checkpoint() will say so, too
  sync();
  try {
    for (size_t s = 0; s < settled.size(); ++s) {
      if (is_settled(s)) continue;
      folder_.write_unsettled(*memory_, static_cast<int32_t>(s), ledger_.last_change(), settled[s]);
      in_place_[s] = {};
    }
  } catch (const SystemError&) {
  }
  seconds_of_writing_ = std::max(0.1, seconds_since(started));
}

/// Files of another store would be replaced, and its documents copied into this ledger.
void MemoWriter::check_place() const {
  if (!lock_.is_in_place())
    throw std::runtime_error(
        fmt::format("{}: is not the store that was opened: that was moved or replaced, or the "
                    "working folder is another one now; open it where it is, which finishes what "
                    "was begun",
                    folder_.path().native()));
}

/// Takes the matrices that will be replaced into memory and removes their files, where there is no
/// room for both.
void MemoWriter::make_room() {
  int64_t needed = 0;
  std::vector<int32_t> replaced;
  for (size_t s = 0; s < in_place_.size(); ++s) {
    if (is_written(s)) continue;
    replaced.push_back(static_cast<int32_t>(s));
    const memo::ExactCorrelationMemory& matrix = memory_->shards()[s].matrix();
    needed += 8 * matrix.packing().words(matrix.rows() * matrix.columns());
  }
  std::error_code unknown;
  const auto free = std::filesystem::space(folder_.path(), unknown).available;
  const bool has_room = static_cast<double>(free) > static_cast<double>(needed);
  if (unknown || replaced.empty() || has_room) return;
  memory_ = memo::TextMemory(*memory_);  // its own entries, not those of the files
  for (const int32_t s : replaced) std::filesystem::remove(folder_.matrix_path(s));
}

void MemoWriter::write_matrices() {
  check_place();
  load();
  sync();
  if (ledger_.erasure_pending()) make_room();
  for (size_t s = 0; s < in_place_.size(); ++s) {
    if (is_written(s)) continue;
    const int64_t edits = memory_->shards()[s].edits();
    beside_[s] = {folder_.write_settled(*memory_, static_cast<int32_t>(s)), edits};
  }
}

bool MemoWriter::settle() {
  bool all_settled = ledger_.is_settled();
  for (size_t s = 0; memory_ && s < in_place_.size(); ++s)
    all_settled = all_settled && is_settled(s);
  if (all_settled) return false;
  write_matrices();
  std::vector<std::string> digests;
  for (size_t s = 0; s < in_place_.size(); ++s)
    digests.push_back(is_settled(s) ? in_place_[s].digest : beside_[s].digest);
  note_in_history(folder_.path(), ledger_, digests);
  ledger_.settle(digests);
  folder_.put_in_place(ledger_);
  for (size_t s = 0; s < in_place_.size(); ++s)
    if (!is_settled(s)) in_place_[s] = beside_[s];
  return true;
}

void MemoWriter::checkpoint(Readers readers) {
  if (settle()) tidy(readers);
}

void MemoWriter::rebuild(const OnProgress& on_progress) {
  memory_.reset();
  memo::TextMemory memory(config().memory);
  auto transaction = ledger_.transaction();
  const int64_t total = ledger_.totals().tokens;
  int64_t done = 0;
  for (StoredDocument document : ledger_.documents()) {
    document.pairs = memory.memorize(watched(ledger_.pieces(document), [&](int64_t tokens) {
      if (on_progress) on_progress(done + tokens, total);
    }));
    ledger_.set_pairs(document);
    done += document.tokens;
  }
  ledger_.rebuild_index([&](const StoredDocument& document) {
    return whole_text(ledger_, folder_.tokenizer(), document);
  });
  commit(transaction);
  memory_ = std::move(memory);
  in_place_.assign(memory_->shards().size(), {});
  beside_ = in_place_;
}

}  // namespace tessera::store
