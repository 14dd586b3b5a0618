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

/// A matrix of a store, one of its shards, as a file: safetensors with one tensor "C" [d, d], I32
/// or I64. The metadata hold the state with a checksum of its own, the store's configuration, and a
/// checksum of everything. The file is replaced as a whole, so a reader keeps the version that it
/// has opened.
class MatrixFile {
 public:
  /// Reads the header. shard: which of config.memory.shards it must be. Throws SystemError;
  /// DataError if the file is damaged or belongs to another configuration.
  static MatrixFile open(const std::filesystem::path& path, const StoreConfig& config,
                         int32_t shard);
  /// Returns content_digest() of the matrix.
  static std::string write(const std::filesystem::path& path, const StoreConfig& config,
                           int32_t shard, const memo::MemoryShard& memory, int64_t change = 0,
                           const std::string& after = "");

  const MatrixState& state() const { return state_; }
  /// C, mapped from the file: only the parts that are edited take memory. The checksum is compared
  /// when the matrix is first needed, and DataError thrown then. To be called once: two of them
  /// would share their entries.
  memo::MemoryShard shard() const;

 private:
  MatrixFile(safetensors::File file, MatrixState state, std::string owner);

  std::shared_ptr<safetensors::File> file_;
  MatrixState state_;
  std::string owner_;
};

}  // namespace tessera::store
