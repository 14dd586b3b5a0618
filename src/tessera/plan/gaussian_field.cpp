#include "tessera/plan/gaussian_field.h"

#include "tessera/base/error.h"
#include "tessera/plan/cpu/gaussian_rows.h"

namespace tessera::theory {

void GaussianField::fill(int64_t first_row, int64_t rows, int64_t first_column, int64_t columns,
                         float* out, int64_t stride) const {
  check_argument(first_column % kTileColumns == 0,
                 "GaussianField::fill: the first column is {}, which is not a multiple of {}",
                 first_column, kTileColumns);
  check_argument(columns <= stride, "GaussianField::fill: {} columns do not fit a row of {}",
                 columns, stride);
  // A block of Philox has four numbers.
  constexpr int64_t kMostColumns = int64_t{4} << cpu::kRowBits;
  check_argument(first_column + columns <= kMostColumns,
                 "GaussianField::fill: columns {} to {}, expected at most {}", first_column,
                 first_column + columns, kMostColumns);
  cpu::fill_gaussian_rows({seed_, stream_, first_row, rows, first_column, columns, out, stride});
}

std::vector<float> gaussian_rows(int64_t rows, int64_t columns, uint64_t seed, uint64_t stream) {
  std::vector<float> field(rows * columns);
  GaussianField(seed, stream).fill(0, rows, 0, columns, field.data(), columns);
  return field;
}

}  // namespace tessera::theory
