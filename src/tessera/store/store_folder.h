#pragma once

#include <filesystem>
#include <vector>

#include "tessera/data/tokenizer.h"
#include "tessera/memo/text_memory.h"
#include "tessera/store/ledger.h"
#include "tessera/store/store_config.h"

namespace tessera::store {

class MatrixFile;

/// A store is a folder:
///   config.json         what it was created with (StoreConfig)
///   tokenizer.json      how text becomes tokens
///   ledger.sqlite       documents and journal, the source of truth (Ledger)
///   memory.safetensors  the matrix, a pure function of the ledger (MatrixFile); in several shards
///                       memory-0000.safetensors, memory-0001.safetensors, ...
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
  std::filesystem::path matrix_path(int32_t shard) const;
  std::filesystem::path lock_path() const { return path_ / "lock"; }

  const StoreConfig& config() const { return config_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }

  /// Of each shard.
  std::vector<MatrixFile> open_matrices() const;
  /// Replaces the file of one shard, or all files. change: the last one that the memory contains.
  void write_matrix(const memo::TextMemory& memory, int32_t shard, int64_t change) const;
  void write_matrices(const memo::TextMemory& memory, int64_t change) const;
  /// The last change that each file contains: the one it names, or, where no later one changed its
  /// shard, the last that is settled.
  static std::vector<int64_t> changes_in(const std::vector<MatrixFile>& files,
                                         const Ledger& ledger);
  /// The memory at the ledger's last change: the matrices of the files, to each of which the
  /// changes are applied that it lacks. Throws DataError if files and ledger do not belong
  /// together.
  memo::TextMemory memory(const std::vector<MatrixFile>& files, const Ledger& ledger) const;

 private:
  StoreFolder(std::filesystem::path path, StoreConfig config, Tokenizer tokenizer);

  std::filesystem::path path_;
  StoreConfig config_;
  Tokenizer tokenizer_;
};

}  // namespace tessera::store
