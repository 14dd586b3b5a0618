#include "tessera/store/memo_writer.h"

#include <algorithm>
#include <ctime>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/data/utf8.h"
#include "tessera/store/detail/matrix_file.h"
#include "tessera/store/detail/new_folder.h"
#include "tessera/store/detail/token_pieces.h"
#include "tessera/store/digest.h"
#include "tessera/store/document_text.h"
#include "tessera/store/sqlite.h"

namespace tessera::store {
namespace {

constexpr size_t kLongestId = 4096;      // bytes
constexpr double kEditsForWriting = 20;  // seconds of edits for each second of writing the matrix

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void check_text(const std::string& id, std::string_view text) {
  if (text.empty()) throw DataError(id, "is empty; there is nothing to memorize");
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos)
    throw DataError(id, "byte {} is zero: this is not a text", zero);
  if (const size_t valid = utf8::valid_prefix(text); valid != text.size())
    throw DataError(id, "byte {} is not valid UTF-8; convert it, for example with iconv", valid);
}

}  // namespace

MemoWriter::MemoWriter(const std::filesystem::path& path)
    : folder_(StoreFolder::open(path)),
      lock_(std::make_unique<StoreLock>(folder_.lock_path())),
      ledger_(folder_.ledger_path(), sqlite::Access::kWrite, config().text(),
              config().memory.vocabulary),
      encoder_(folder_.tokenizer()) {
  remove_unfinished_files(folder_.path());
  NewFolder::remove_unfinished(folder_.path());
  finish_erasure();
  index_documents();
}

MemoWriter::~MemoWriter() = default;

/// Those that an earlier version stored, one by one.
void MemoWriter::index_documents() {
  for (const StoredDocument& document : ledger_.unindexed()) {
    auto transaction = ledger_.transaction();
    ledger_.index(document, whole_text(ledger_, folder_.tokenizer(), document));
    transaction.commit();
  }
}

void MemoWriter::finish_erasure() {
  if (!ledger_.erasure_pending()) return;
  left_unerased_ = ledger_.unerased();
  try {
    checkpoint();
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
        "give it another with --id",
        utf8::printable_line(id));
  if (duplicates == Duplicates::kRefuse && ledger_.find(id))
    throw UsageError("'{}' is stored already; replace it with --replace, or forget it first", id);
}

Memorized MemoWriter::memorize(const std::string& id, std::string_view text, Duplicates duplicates,
                               const OnTokens& on_tokens, const Metadata& metadata) {
  check_id(id, duplicates);
  check_text(id, text);
  const auto known = ledger_.find(id);
  if (known && keep(*known, text, metadata)) return Memorized::kUnchanged;
  load();
  const auto started = Clock::now();
  auto transaction = ledger_.transaction();
  DocumentDetails details{std::ssize(text), std::time(nullptr), text_digest(text), metadata};
  if (known) {
    details.metadata.merge(ledger_.details(*known).metadata);
    ledger_.forget(*known);
  }
  StoredDocument document = ledger_.store(id, encoded(id, text));
  memo::TextMemory memory = take();
  if (known) memory.forget(ledger_.pieces(*known));
  document.pairs = memory.memorize(stored(document, on_tokens));
  ledger_.set_pairs(document);
  ledger_.set_details(document, details);
  ledger_.index(document, text);
  transaction.commit();
  put_back(std::move(memory), started);
  return known ? Memorized::kReplaced : Memorized::kNew;
}

/// Whether a stored document has this text; then its details are brought up to date.
bool MemoWriter::keep(const StoredDocument& known, std::string_view text,
                      const Metadata& metadata) {
  const DocumentDetails before = ledger_.details(known);
  DocumentDetails details{std::ssize(text), before.memorized, text_digest(text), metadata};
  details.metadata.insert(before.metadata.begin(), before.metadata.end());
  const bool same = before.digest.empty() ? whole_text(ledger_, folder_.tokenizer(), known) == text
                                          : before.digest == details.digest;
  if (!same) return false;
  if (details != before) describe(known.id, details);
  return true;
}

void MemoWriter::describe(const std::string& id, const DocumentDetails& details) {
  const StoredDocument document = ledger_.get(id);
  auto transaction = ledger_.transaction();
  ledger_.set_details(document, details);
  transaction.commit();
}

/// The document's tokens: those of its text, then the end of text, if the tokenizer has one.
memo::TokenPieces MemoWriter::encoded(const std::string& id, std::string_view text) {
  return [&id, most = memo::TextMemory::most_tokens(config().memory),
          pieces = encoder_.pieces(text), end = encoder_.tokenizer().end_of_text(),
          tokens = int64_t{0}, ended = false]() mutable -> std::span<const int32_t> {
    const auto piece = pieces();
    tokens += static_cast<int64_t>(piece.size());
    if (tokens > most)
      throw DataError(id,
                      "has more than {} tokens; the windows of one document must fit in the memory "
                      "of this machine, split it into several documents",
                      most);
    if (!piece.empty() || ended || !end) return piece;
    ended = true;
    return {&*end, 1};
  };
}

memo::TokenPieces MemoWriter::stored(const StoredDocument& document,
                                     const OnTokens& on_tokens) const {
  return watched(ledger_.pieces(document), [=](int64_t done) {
    if (on_tokens) on_tokens(done, document.tokens);
  });
}

void MemoWriter::forget(const std::string& id, const OnTokens& on_tokens) {
  const StoredDocument document = ledger_.get(id);
  load();
  const auto started = Clock::now();
  auto transaction = ledger_.transaction();
  ledger_.forget(document);
  memo::TextMemory memory = take();
  memory.forget(stored(document, on_tokens));
  transaction.commit();
  put_back(std::move(memory), started);
}

void MemoWriter::load() {
  if (memory_) return;
  const std::vector<MatrixFile> files = folder_.open_matrices();
  memory_ = folder_.memory(files, ledger_);
  written_.clear();
  for (const MatrixFile& file : files) written_.push_back({file.state().change, 0});
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
  if (seconds_of_edits_ > kEditsForWriting * seconds_of_writing_) write_matrix();
}

/// Whether a shard's file holds what the shard holds now, and says so: the ledger notes what the
/// files of several shards name, a single one must name the last change itself.
bool MemoWriter::is_written(int32_t shard, int64_t change) const {
  if (written_.empty()) return false;
  const Written& file = written_[static_cast<size_t>(shard)];
  return file.edits == memory_->shards()[static_cast<size_t>(shard)].edits() &&
         (written_.size() > 1 || file.change == change);
}

void MemoWriter::write_matrix() {
  load();
  seconds_of_edits_ = 0;
  const int64_t change = ledger_.last_change();
  const auto started = Clock::now();
  std::vector<Written> written = written_;
  written.resize(memory_->shards().size());
  bool any = false;
  for (int32_t s = 0; s < config().memory.shards; ++s) {
    if (is_written(s, change)) continue;
    folder_.write_matrix(*memory_, s, change);
    written[static_cast<size_t>(s)] = {change, memory_->shards()[static_cast<size_t>(s)].edits()};
    any = true;
  }
  if (any) seconds_of_writing_ = std::max(0.1, seconds_since(started));
  written_ = std::move(written);
}

void MemoWriter::checkpoint() {
  write_matrix();
  std::vector<int64_t> named;
  for (const Written& file : written_) named.push_back(file.change);
  ledger_.settle(ledger_.last_change(), named);
}

void MemoWriter::rebuild(const OnTokens& on_tokens) {
  memory_.reset();
  written_.clear();
  memo::TextMemory memory(config().memory);
  auto transaction = ledger_.transaction();
  const int64_t total = ledger_.totals().tokens;
  int64_t done = 0;
  for (StoredDocument document : ledger_.documents()) {
    document.pairs = memory.memorize(watched(ledger_.pieces(document), [&](int64_t tokens) {
      if (on_tokens) on_tokens(done + tokens, total);
    }));
    ledger_.set_pairs(document);
    done += document.tokens;
  }
  transaction.commit();
  memory_ = std::move(memory);
  ledger_.empty_index();
  index_documents();
}

}  // namespace tessera::store
