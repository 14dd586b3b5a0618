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

MatrixFile StoreFolder::open_matrix() const {
  return MatrixFile::open(matrix_path(), config_.text(), config_.memory.dimension);
}

void StoreFolder::write_matrix(const memo::TextMemory& memory, int64_t change) const {
  MatrixFile::write(matrix_path(), config_.text(), {change, memory.pairs()}, memory.matrix());
}

memo::TextMemory StoreFolder::memory(MatrixFile file, const Ledger& ledger) const {
  const MatrixState state = file.state();
  if (state.change > ledger.last_change())
    throw DataError(ledger_path().native(),
                    "ends with change {}, but {} already contains change {}; it is older than the "
                    "matrix, restore the newer one",
                    ledger.last_change(), matrix_path().filename().native(), state.change);
  memo::TextMemory memory(config_.memory, std::move(file).matrix(), state.pairs);
  for (const Change& change : ledger.changes_after(state.change)) {
    const memo::TokenPieces pieces = ledger.pieces(change.document);
    if (change.kind == ChangeKind::kStore)
      memory.memorize(pieces);
    else
      memory.forget(pieces);
  }
  if (memory.pairs() != ledger.totals().pairs)
    throw DataError(matrix_path().native(),
                    "holds {} pairs, the documents of the ledger wrote {}; 'tessera memo verify "
                    "--repair' rebuilds it from them",
                    memory.pairs(), ledger.totals().pairs);
  return memory;
}

}  // namespace tessera::store
