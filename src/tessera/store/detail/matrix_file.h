#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "tessera/base/safetensors.h"
#include "tessera/memo/readable_memory.h"
#include "tessera/store/store_folder.h"

namespace tessera::store {

/// What the header of a matrix's file says of it.
struct MatrixState {
  /// The last change of the ledger's journal that it contains, and the matrix's digest before the
  /// journal begins. 0 and "" where it contains what is settled: the file then tells its content
  /// alone.
  int64_t change = 0;
  std::string after = {};
  int64_t pairs = 0;  ///< pairs that it holds
  /// Its energy() and content_digest(). Earlier versions of Tessera did not write them.
  std::optional<double> energy = {};
  std::string digest = {};
};

/// A matrix of a store, one of its shards, as a file: safetensors with one tensor "C", the words
/// (I64) that its entries are packed in (memo::Packing); in files of earlier versions the entries
/// [d, d], I32 or I64. The metadata hold the state with a checksum of its own, the store's
/// configuration, the packing, and a checksum of everything. The file is replaced as a whole, so a
/// reader keeps the version that it has opened.
class MatrixFile {
 public:
  /// Reads the header. shard: which of config.memory.shards it must be. Throws SystemError;
  /// DataError if the file is damaged or belongs to another configuration.
  MatrixFile(const std::filesystem::path& path, const StoreConfig& config, int32_t shard);
  /// Returns content_digest() of the matrix.
  static std::string write(const std::filesystem::path& path, const StoreConfig& config,
                           int32_t shard, const memo::MemoryShard& memory, int64_t change = 0,
                           const std::string& after = "");

  const MatrixState& state() const { return state_; }
  /// C, unpacked when the matrix is first needed. The checksum is compared then, and DataError
  /// thrown.
  memo::MemoryShard shard() const;

 private:
  std::shared_ptr<safetensors::File> file_;
  std::string owner_;
  int64_t dimension_;
  MatrixState state_;
};

}  // namespace tessera::store
