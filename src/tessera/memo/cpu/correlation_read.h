#pragma once

#include <cstdint>

namespace tessera::memo::cpu {

/// values [queries, columns] = queries [queries, rows] times entries [rows, columns], each the
/// exact sum rounded once to float. One pass over the entries; each block of rows is used for all
/// queries while it is in the cache.
struct CorrelationRead {
  int64_t queries = 0, rows = 0, columns = 0;
  const int8_t* keys = nullptr;  ///< the queries
  const int32_t* entries = nullptr;
  float* values = nullptr;
};

}  // namespace tessera::memo::cpu
