#pragma once

#include <filesystem>

#include "tessera/data/tokenizer.h"
#include "tessera/memo/text_memory.h"
#include "tessera/store/ledger.h"
#include "tessera/store/matrix_file.h"
#include "tessera/store/store_config.h"

namespace tessera::store {

/// A store is a folder:
///   config.json         what it was created with (StoreConfig)
///   tokenizer.json      how text becomes tokens
///   ledger.sqlite       documents and journal, the source of truth (Ledger)
///   memory.safetensors  the matrix, a pure function of the ledger (MatrixFile)
///   lock                held by the one process that writes (StoreLock)
class StoreFolder {
 public:
  /// Reads config.json and tokenizer.json. Throws DataError if the folder is not a store, or if the
  /// two do not belong together.
  static StoreFolder open(const std::filesystem::path& path);
  /// Writes these two files and a ledger without documents into an empty folder.
  static StoreFolder create(const std::filesystem::path& path, const StoreConfig& config,
                            const Tokenizer& tokenizer);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path ledger_path() const { return path_ / "ledger.sqlite"; }
  std::filesystem::path matrix_path() const { return path_ / "memory.safetensors"; }
  std::filesystem::path lock_path() const { return path_ / "lock"; }

  const StoreConfig& config() const { return config_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }

  MatrixFile open_matrix() const;
  void write_matrix(const memo::TextMemory& memory, int64_t change) const;
  /// The memory at the ledger's last change: the matrix of the file, with the changes since
  /// applied. Throws DataError if the two do not belong together.
  memo::TextMemory memory(MatrixFile file, const Ledger& ledger) const;

 private:
  StoreFolder(std::filesystem::path path, StoreConfig config, Tokenizer tokenizer);

  std::filesystem::path path_;
  StoreConfig config_;
  Tokenizer tokenizer_;
};

}  // namespace tessera::store
