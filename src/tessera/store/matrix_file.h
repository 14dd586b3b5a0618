#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "tessera/base/safetensors.h"
#include "tessera/memo/exact_correlation_memory.h"

namespace tessera::store {

/// Which state of the ledger a matrix belongs to.
struct MatrixState {
  int64_t change = 0;  ///< the last change it contains
  int64_t pairs = 0;   ///< pairs that it holds
};

/// The matrix of a store as a file: safetensors with one tensor "C" [d, d], I32 or I64; the
/// metadata hold the state, the store's configuration and a checksum of everything. The file is
/// replaced as a whole, so a reader keeps the version that it has opened.
class MatrixFile {
 public:
  /// Reads the header. config: StoreConfig::text(). Throws SystemError; DataError if the file is
  /// damaged or belongs to another configuration.
  static MatrixFile open(const std::filesystem::path& path, const std::string& config,
                         int64_t dimension);
  static void write(const std::filesystem::path& path, const std::string& config,
                    const MatrixState& state, const memo::ExactCorrelationMemory& matrix);

  const MatrixState& state() const { return state_; }
  /// C, mapped from the file: only the parts that are edited take memory. May be called once.
  /// Throws DataError if the checksum is wrong.
  memo::ExactCorrelationMemory matrix() &&;

 private:
  MatrixFile(safetensors::File file, MatrixState state, std::string config, int64_t dimension);

  std::shared_ptr<safetensors::File> file_;
  MatrixState state_;
  std::string config_;
  int64_t dimension_;
};

}  // namespace tessera::store
