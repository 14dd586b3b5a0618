#pragma once

#include <cstdint>

namespace tessera::memo::cpu {

/// Turns rows of signs, 64 to a word, into blocks of columns: word c of block (panel p, group g)
/// holds sign 64 p + c of rows 64 g, ..., 64 g + 63, with zeros for missing rows.
struct SignTranspose {
  int64_t count = 0;               ///< rows
  int64_t panels = 0;              ///< words of a row
  const uint64_t* rows = nullptr;  ///< [count, panels]
  uint64_t* columns = nullptr;     ///< [panels, ceil(count / 64), 64]
};

/// entries [64 row_panels, 64 column_panels] += sign times the sum over the pairs of key times
/// value, each +-1 and packed as by SignTranspose.
struct SignProducts {
  int64_t pairs = 0;
  int64_t row_panels = 0, column_panels = 0;
  const uint64_t* keys = nullptr;    ///< [row_panels, ceil(pairs / 64), 64]
  const uint64_t* values = nullptr;  ///< [column_panels, ceil(pairs / 64), 64]
  int32_t sign = 1;
  int32_t* entries = nullptr;
};

}  // namespace tessera::memo::cpu
