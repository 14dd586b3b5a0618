#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "tessera/base/safetensors.h"
#include "tessera/memo/exact_correlation_memory.h"

namespace tessera {

/// Which state of the ledger a matrix belongs to.
struct MatrixState {
  int64_t change = 0;  ///< the last change it contains
  int64_t pairs = 0;   ///< it holds
};

/// The matrix of a store as a file: safetensors with one tensor "C" [d, d], I32 or I64, and in the
/// metadata the state, the store's configuration and a checksum of all. Replaced whole or not at
/// all, so that a reader keeps the one it has opened.
class MatrixFile {
 public:
  /// Reads the header. Throws SystemError; DataError where the file is damaged or belongs to
  /// another configuration (its text).
  static MatrixFile open(const std::filesystem::path& path, const std::string& config,
                         int64_t dimension);
  static void write(const std::filesystem::path& path, const std::string& config,
                    const MatrixState& state, const ExactCorrelationMemory& matrix);

  const MatrixState& state() const { return state_; }
  /// C where it lies in the file: only what is edited takes memory. Throws DataError where the
  /// checksum tells of damage. Once.
  ExactCorrelationMemory matrix() &&;

 private:
  MatrixFile(safetensors::File file, MatrixState state, std::string config, int64_t dimension);

  std::shared_ptr<safetensors::File> file_;
  MatrixState state_;
  std::string config_;
  int64_t dimension_;
};

}  // namespace tessera
