#pragma once

#include <cstdint>
#include <vector>

namespace tessera::theory {

/// A matrix of independent standard normals that is never stored: entry (row, column) is a pure
/// function of (seed, stream, row, column), so any block can be drawn again, by any thread, and a
/// matrix of fewer columns is the prefix of a wider one. Philox 4x32-10 and Box-Muller in float;
/// columns come in tiles of 64: column 64 t + 16 w + b is word w of Philox block 16 t + b of the
/// row. The same bits on every x86-64 processor.
class GaussianField {
 public:
  static constexpr int64_t kTileColumns = 64;

  explicit GaussianField(uint64_t seed, uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  /// Writes rows [first_row, first_row + rows) of columns [first_column, first_column + columns)
  /// to out [rows, stride]. Throws UsageError unless first_column is a multiple of kTileColumns,
  /// stride >= columns and all columns are below 2^26. Rows below 2^40.
  void fill(int64_t first_row, int64_t rows, int64_t first_column, int64_t columns, float* out,
            int64_t stride) const;

 private:
  uint64_t seed_;
  uint64_t stream_;
};

/// The first rows and columns of a field, [rows, columns].
std::vector<float> gaussian_rows(int64_t rows, int64_t columns, uint64_t seed, uint64_t stream = 0);

}  // namespace tessera::theory
