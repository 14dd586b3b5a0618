#include "tessera/store/store_folder.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/store/detail/matrix_file.h"

namespace tessera::store {
namespace {

constexpr const char* kConfigFile = "config.json";
constexpr const char* kTokenizerFile = "tokenizer.json";

}  // namespace

StoreFolder::StoreFolder(std::filesystem::path path, StoreConfig config, Tokenizer tokenizer)
    : path_(std::move(path)), config_(std::move(config)), tokenizer_(std::move(tokenizer)) {}

StoreFolder StoreFolder::open(const std::filesystem::path& path) {
  for (const char* name : {kConfigFile, kTokenizerFile})
    if (!is_there(path / name))
      throw DataError(path.native(),
                      "is not a memo store: it has no {}; 'tessera memo create' creates one", name);
  StoreConfig config = StoreConfig::load(path / kConfigFile);
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
  Ledger::create(folder.ledger_path(), config.text(), config.memory.shards);
  return folder;
}

std::filesystem::path StoreFolder::matrix_path(int32_t shard) const {
  if (config_.memory.shards == 1) return path_ / "memory.safetensors";
  return path_ / fmt::format("memory-{:04}.safetensors", shard);
}

std::vector<MatrixFile> StoreFolder::open_matrices() const {
  std::vector<MatrixFile> files;
  for (int32_t s = 0; s < config_.memory.shards; ++s)
    files.push_back(MatrixFile::open(matrix_path(s), config_, s));
  return files;
}

void StoreFolder::write_matrix(const memo::TextMemory& memory, int32_t shard,
                               int64_t change) const {
  MatrixFile::write(matrix_path(shard), config_, shard, change,
                    memory.shards()[static_cast<size_t>(shard)]);
}

void StoreFolder::write_matrices(const memo::TextMemory& memory, int64_t change) const {
  for (int32_t s = 0; s < config_.memory.shards; ++s) write_matrix(memory, s, change);
}

std::vector<int64_t> StoreFolder::changes_in(const std::vector<MatrixFile>& files,
                                             const Ledger& ledger) {
  const std::vector<int64_t> noted = ledger.noted_changes();
  const int64_t settled = ledger.settled_change();
  std::vector<int64_t> changes;
  for (const MatrixFile& file : files) {
    const size_t s = changes.size();
    const bool is_noted = s < noted.size() && file.state().change == noted[s];
    changes.push_back(is_noted ? std::max(noted[s], settled) : file.state().change);
  }
  return changes;
}

memo::TextMemory StoreFolder::memory(const std::vector<MatrixFile>& files,
                                     const Ledger& ledger) const {
  std::vector<memo::MemoryShard> shards;
  for (const MatrixFile& file : files) {
    if (file.state().change > ledger.last_change())
      throw DataError(ledger_path().native(),
                      "ends with change {}, but {} already contains change {}; it is older than "
                      "the matrix, restore the newer one",
                      ledger.last_change(),
                      matrix_path(static_cast<int32_t>(shards.size())).filename().native(),
                      file.state().change);
    shards.push_back(file.shard());
  }
  memo::TextMemory memory(config_.memory, std::move(shards));
  const std::vector<int64_t> contained = changes_in(files, ledger);
  for (const Change& change : ledger.changes_after(std::ranges::min(contained)))
    memory.edit(change.kind == ChangeKind::kStore ? memo::Edit::kStore : memo::Edit::kForget,
                ledger.pieces(change.document),
                [&](size_t shard) { return contained[shard] < change.number; });
  if (memory.pairs() != ledger.totals().pairs)
    throw DataError(ledger_path().native(),
                    "its documents wrote {} pairs, the matrices beside it hold {}; 'tessera memo "
                    "verify --repair' rebuilds them",
                    ledger.totals().pairs, memory.pairs());
  return memory;
}

}  // namespace tessera::store
