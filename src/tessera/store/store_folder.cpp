#include "tessera/store/store_folder.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "tessera/base/error.h"
#include "tessera/store/detail/matrix_file.h"

namespace tessera::store {
namespace {

constexpr const char* kConfigFile = "config.json";
constexpr const char* kTokenizerFile = "tokenizer.json";

/// What open() returns, which opens files of this store. If they are those of the store that it was
/// rebuilt as meanwhile, they are not damaged.
template <typename Open>
auto of_one_store(const StoreFolder& folder, const Open& open) {
  try {
    return open();
  } catch (const DataError&) {
    if (StoreConfig::load(folder.path() / kConfigFile) == folder.config()) throw;
    throw std::runtime_error(folder.path().native() +
                             ": another process has rebuilt this store meanwhile; try again");
  }
}

}  // namespace

StoreFolder::StoreFolder(std::filesystem::path path, StoreConfig config, Tokenizer tokenizer)
    : path_(std::move(path)), config_(std::move(config)), tokenizer_(std::move(tokenizer)) {}

FileLock StoreFolder::lock(const std::filesystem::path& store) {
  return {store / "lock", "another process is writing to this store; wait until it has ended"};
}

bool StoreFolder::is_at(const std::filesystem::path& path) {
  std::error_code unknown;
  return std::filesystem::exists(path / kConfigFile, unknown) &&
         std::filesystem::exists(path / kLedgerFile, unknown);
}

StoreFolder StoreFolder::open(const std::filesystem::path& path) {
  if (!is_there(path / kConfigFile))
    throw DataError(path.native(), "is not a memo store: {}; 'tessera memo create' creates one",
                    !is_there(path)                       ? "there is nothing of this name"
                    : std::filesystem::is_directory(path) ? "it has no config.json"
                                                          : "it is a file");
  StoreConfig config = StoreConfig::load(path / kConfigFile);
  if (!is_there(path / kTokenizerFile))
    throw DataError(
        (path / kTokenizerFile).native(),
        "is missing; copy the one with the digest {} there, from a backup, from a store "
        "that was made with the same tokenizer, or from the model that it came from",
        config.tokenizer);
  Tokenizer tokenizer = Tokenizer::load(path / kTokenizerFile);
  if (digest_of(tokenizer) != config.tokenizer ||
      tokenizer.vocabulary_size() != config.memory.vocabulary)
    throw DataError((path / kTokenizerFile).native(),
                    "is not the tokenizer of this store: it has the digest {} and {} tokens, {} "
                    "says {} and {}",
                    digest_of(tokenizer), tokenizer.vocabulary_size(), kConfigFile,
                    config.tokenizer, config.memory.vocabulary);
  return {path, std::move(config), std::move(tokenizer)};
}

StoreFolder StoreFolder::create(const std::filesystem::path& path, const StoreConfig& config,
                                const Tokenizer& tokenizer) {
  config.save(path / kConfigFile);
  tokenizer.save(path / kTokenizerFile);
  StoreFolder folder(path, config, tokenizer);
  Ledger::create(folder.ledger_path(), config.text());
  return folder;
}

void StoreFolder::create_empty(const std::filesystem::path& path, const StoreConfig& config,
                               const Tokenizer& tokenizer) {
  const StoreFolder made = create(path, config, tokenizer);
  Ledger ledger = made.open_ledger(sqlite::Access::kWrite);
  made.settle(ledger, memo::TextMemory(config.memory));
}

std::filesystem::path StoreFolder::matrix_path(int32_t shard) const {
  if (config_.memory.shards == 1) return path_ / "memory.safetensors";
  return path_ / fmt::format("memory-{:04}.safetensors", shard);
}

std::filesystem::path StoreFolder::settled_path(int32_t shard) const {
  return matrix_path(shard).native() + ".settled";
}

void StoreFolder::check_files() const {
  const std::string ledger = ledger_path().filename();
  std::set<std::filesystem::path> own = {kConfigFile, kTokenizerFile,  "lock",         kHistoryFile,
                                         ledger,      ledger + "-wal", ledger + "-shm"};
  for (int32_t s = 0; s < config_.memory.shards; ++s)
    own.insert({matrix_path(s).filename(), settled_path(s).filename()});
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    if (!own.contains(entry.path().filename()))
      throw DataError(entry.path().native(),
                      "is not a file of the store and would be lost with the store's old folder; "
                      "move it elsewhere first");
}

std::vector<MatrixFile> StoreFolder::open_matrices(const Ledger& ledger) const {
  return of_one_store(*this, [&] {
    const std::vector<std::string> settled = ledger.settled_digests();
    if (!settled.empty() && std::ssize(settled) != config_.memory.shards)
      throw DataError(ledger_path().native(),
                      "{} matrices are settled, the store has {}; 'tessera memo verify --repair' "
                      "writes them again",
                      settled.size(), config_.memory.shards);
    std::vector<MatrixFile> files;
    for (int32_t s = 0; s < config_.memory.shards; ++s)
      if (auto next = open_settled(s, settled))
        files.push_back(*std::move(next));
      else
        files.emplace_back(matrix_path(s), config_, s);
    return files;
  });
}

std::optional<MatrixFile> StoreFolder::open_settled(int32_t shard,
                                                    std::span<const std::string> settled) const {
  const size_t number = shard;
  const std::filesystem::path path = settled_path(shard);
  if (number >= settled.size() || !is_there(path)) return {};
  try {
    MatrixFile file(path, config_, shard);
    if (file.state().digest == settled[number]) return file;
  } catch (const DataError&) {    // damaged: as if it were not there
  } catch (const SystemError&) {  // a writer may have put it in place meanwhile
    if (is_there(path)) throw;
  }
  return {};
}

std::string StoreFolder::write_settled(const memo::TextMemory& memory, int32_t shard) const {
  return MatrixFile::write(settled_path(shard), config_, shard, memory.shards()[shard]);
}

Ledger StoreFolder::open_ledger(sqlite::Access access) const {
  return of_one_store(*this, [&] {
    return Ledger(ledger_path(), access, config_.text(), config_.memory.vocabulary);
  });
}

void StoreFolder::settle(Ledger& ledger, const memo::TextMemory& memory) const {
  std::vector<std::string> digests;
  for (int32_t s = 0; s < config_.memory.shards; ++s) digests.push_back(write_settled(memory, s));
  ledger.settle(digests);
  put_in_place(ledger);
  ledger.tidy(Readers::kPass);
}

void StoreFolder::put_in_place(const Ledger& ledger) const {
  const std::vector<std::string> settled = ledger.settled_digests();
  for (int32_t s = 0; s < config_.memory.shards; ++s) {
    if (!is_there(settled_path(s))) continue;
    if (open_settled(s, settled))
      replace_file(matrix_path(s), settled_path(s));
    else
      std::filesystem::remove(settled_path(s));
  }
}

void StoreFolder::write_unsettled(const memo::TextMemory& memory, int32_t shard, int64_t change,
                                  const std::string& after) const {
  MatrixFile::write(matrix_path(shard), config_, shard, memory.shards()[shard], change, after);
}

std::vector<std::optional<int64_t>> StoreFolder::changes_in(const std::vector<MatrixFile>& files,
                                                            const Ledger& ledger) {
  const std::vector<std::string> digests = ledger.settled_digests();
  const std::vector<int64_t> noted = ledger.noted_changes();
  const int64_t settled = ledger.settled_change(), last = ledger.last_change();
  std::vector<std::optional<int64_t>> changes;
  for (const MatrixFile& file : files) {
    const MatrixState& state = file.state();
    const size_t s = changes.size();
    std::optional<int64_t>& contained = changes.emplace_back();
    if (s < digests.size()) {
      if (state.digest == digests[s]) contained = settled;
      if (state.after == digests[s] && state.change <= last)
        contained = std::max(contained.value_or(0), state.change);
    } else if (state.change <= last) {  // of an earlier version
      const bool is_noted = s < noted.size() && state.change == noted[s];
      contained = is_noted ? std::max(noted[s], settled) : state.change;
    }
  }
  return changes;
}

memo::TextMemory StoreFolder::memory(const std::vector<MatrixFile>& files,
                                     const Ledger& ledger) const {
  std::vector<memo::MemoryShard> shards;
  std::vector<int64_t> contained;
  for (const auto& change : changes_in(files, ledger)) {
    const size_t s = contained.size();
    if (!change)
      throw DataError(
          matrix_path(static_cast<int32_t>(s)).native(),
          "is older or newer than the ledger beside it; restore the one that belongs to "
          "it, or let 'tessera memo verify --repair' rebuild the matrix from the "
          "documents in the ledger");
    contained.push_back(*change);
    shards.push_back(files[s].shard());
  }
  memo::TextMemory memory(config_.memory, std::move(shards));
  for (const Change& change : ledger.changes_after(std::ranges::min(contained)))
    memory.edit(change.kind, ledger.pieces(change.document),
                [&](size_t shard) { return contained[shard] < change.number; });
  if (memory.pairs() != ledger.totals().pairs)
    throw DataError(ledger_path().native(),
                    "its documents wrote {} pairs, the matrices beside it hold {}; 'tessera memo "
                    "verify --repair' rebuilds them",
                    ledger.totals().pairs, memory.pairs());
  return memory;
}

}  // namespace tessera::store
