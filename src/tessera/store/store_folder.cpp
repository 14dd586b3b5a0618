#include "tessera/store/store_folder.h"

#include "tessera/base/error.h"
#include "tessera/base/file.h"

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
  Ledger::create(folder.ledger_path(), config.text());
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

void StoreFolder::write_matrices(const memo::TextMemory& memory, int64_t change) const {
  for (int32_t s = 0; s < config_.memory.shards; ++s)
    MatrixFile::write(matrix_path(s), config_, s, change, memory.shards()[static_cast<size_t>(s)]);
}

memo::TextMemory StoreFolder::memory(const std::vector<MatrixFile>& files,
                                     const Ledger& ledger) const {
  std::vector<memo::MemoryShard> shards;
  int64_t oldest = ledger.last_change();
  for (const MatrixFile& file : files) {
    if (file.state().change > ledger.last_change())
      throw DataError(ledger_path().native(),
                      "ends with change {}, but {} already contains change {}; it is older than "
                      "the matrix, restore the newer one",
                      ledger.last_change(),
                      matrix_path(static_cast<int32_t>(shards.size())).filename().native(),
                      file.state().change);
    oldest = std::min(oldest, file.state().change);
    shards.push_back(file.shard());
  }
  memo::TextMemory memory(config_.memory, std::move(shards));
  for (const Change& change : ledger.changes_after(oldest))
    memory.edit(change.kind == ChangeKind::kStore ? memo::Edit::kStore : memo::Edit::kForget,
                ledger.pieces(change.document),
                [&](size_t shard) { return files[shard].state().change < change.number; });
  if (memory.pairs() != ledger.totals().pairs)
    throw DataError(ledger_path().native(),
                    "its documents wrote {} pairs, the matrices beside it hold {}; 'tessera memo "
                    "verify --repair' rebuilds them",
                    ledger.totals().pairs, memory.pairs());
  return memory;
}

}  // namespace tessera::store
