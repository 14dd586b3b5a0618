#pragma once

#include <filesystem>

#include "tessera/data/tokenizer.h"
#include "tessera/memo/text_memory.h"
#include "tessera/store/ledger.h"
#include "tessera/store/matrix_file.h"
#include "tessera/store/store_config.h"

namespace tessera {

/// A store is a folder:
///   config.json         what it is from its creation on (StoreConfig)
///   tokenizer.json      how text becomes tokens
///   ledger.sqlite       the truth: documents and journal (Ledger)
///   memory.safetensors  the matrix, a pure function of the ledger (MatrixFile)
///   lock                held by the one process that writes (StoreLock)
class StoreFolder {
 public:
  /// Reads config.json and tokenizer.json. Throws DataError where the folder is no store, or the
  /// two do not belong together.
  static StoreFolder open(const std::filesystem::path& path);
  /// Writes those two and a ledger without documents into an empty folder.
  static StoreFolder create(const std::filesystem::path& path, const StoreConfig& config,
                            const Tokenizer& tokenizer);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path ledger_path() const { return path_ / "ledger.sqlite"; }
  std::filesystem::path matrix_path() const { return path_ / "memory.safetensors"; }
  std::filesystem::path lock_path() const { return path_ / "lock"; }

  const StoreConfig& config() const { return config_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }

  MatrixFile open_matrix() const;
  void write_matrix(const TextMemory& memory, int64_t change) const;
  /// The memory at the ledger's last change: the file's matrix, and the changes since. Throws
  /// DataError where the two do not belong together.
  TextMemory memory(MatrixFile file, const Ledger& ledger) const;

 private:
  StoreFolder(std::filesystem::path path, StoreConfig config, Tokenizer tokenizer);

  std::filesystem::path path_;
  StoreConfig config_;
  Tokenizer tokenizer_;
};

}  // namespace tessera
