#pragma once

#include <cstdint>

#include "tessera/memo/cpu/loop.h"

namespace tessera::memo::cpu {

/// Turns rows of signs, 64 to a word, into blocks of columns: word c of block (panel p, group g)
/// holds sign 64 p + c of rows 64 g, ..., 64 g + 63, with zeros for missing rows.
struct SignTranspose {
  int64_t count = 0;               ///< rows
  int64_t panels = 0;              ///< words of a row
  const uint64_t* rows = nullptr;  ///< [count, panels]
  uint64_t* columns = nullptr;     ///< [panels, ceil(count / 64), 64]
};
TESSERA_INTEGER_LOOP(sign_transpose, SignTranspose);

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
TESSERA_INTEGER_LOOP(sign_products, SignProducts);

/// The digits of entries in base 128, from -64 to 63, lowest first:
/// entries = the sum over p of 128^p digits_p, for as many planes as that takes.
struct DigitPlanes {
  int64_t count = 0;
  int64_t planes = 0;
  const int32_t* entries = nullptr;  ///< [count]
  int8_t* digits = nullptr;          ///< [planes, count]
};
TESSERA_INTEGER_LOOP(digit_planes, DigitPlanes);

/// values [queries, columns] = queries [queries, rows] times entries [rows, columns], each the
/// exact sum rounded once to float. One pass over the entries, of 32 or of 16 bits; each block of
/// rows is used for all queries while it is in the cache.
template <typename Entry>
struct CorrelationRead {
  int64_t queries = 0, rows = 0, columns = 0;
  const int8_t* keys = nullptr;  ///< the queries
  const Entry* entries = nullptr;
  float* values = nullptr;
};
TESSERA_INTEGER_LOOP(correlation_read, CorrelationRead<int32_t>);
TESSERA_INTEGER_LOOP(short_correlation_read, CorrelationRead<int16_t>);

}  // namespace tessera::memo::cpu
