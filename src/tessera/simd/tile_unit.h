#pragma once

// Only for *.isa.cpp files that are built for AMX: its tile unit, eight tiles of up to 16 rows of
// 64 bytes.

#include <immintrin.h>

#include <cstdint>
#include <initializer_list>

namespace tessera::simd::TESSERA_ISA {

constexpr int kRowsOfTile = 16, kBytesOfTileRow = 64;

/// The tile intrinsics of g++ 12 do not say that they touch memory: keeps the compiler from moving
/// loads and stores across.
inline void order_memory() {
  asm volatile("" ::: "memory");
}

struct TileShape {
  int rows = kRowsOfTile, row_bytes = kBytesOfTileRow;
};

/// Sets the calling thread's tile unit up, and releases it at the end of the scope.
class TileUnit {
 public:
  /// shapes: of tiles 0, 1 and so on, at most eight.
  explicit TileUnit(std::initializer_list<TileShape> shapes) {
    struct alignas(64) {
      uint8_t palette = 1, start_row = 0, reserved[14] = {};
      uint16_t row_bytes[16] = {};
      uint8_t rows[16] = {};
    } configuration;
    int tile = 0;
    for (const TileShape& shape : shapes) {
      configuration.row_bytes[tile] = static_cast<uint16_t>(shape.row_bytes);
      configuration.rows[tile++] = static_cast<uint8_t>(shape.rows);
    }
    asm volatile("" ::"r"(&configuration) : "memory");  // all of it is read
    _tile_loadconfig(&configuration);
  }
  TileUnit(const TileUnit&) = delete;
  TileUnit& operator=(const TileUnit&) = delete;
  ~TileUnit() { _tile_release(); }
};

}  // namespace tessera::simd::TESSERA_ISA
