#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace tessera::memo {

/// Uninitialised memory, aligned to a cache line, for a matrix that is read from end to end. A
/// large matrix is put into large pages: in small ones every row costs an address translation.
/// Throws std::bad_alloc.
inline std::shared_ptr<std::byte> allocate_matrix(int64_t bytes) {
  constexpr size_t kLine = 64, kPage = size_t{1} << 21;
  const size_t unit = static_cast<size_t>(bytes) < kPage ? kLine : kPage;
  const size_t whole = (bytes + unit - 1) / unit * unit;
  void* memory = std::aligned_alloc(unit, std::max(unit, whole));
  if (!memory) throw std::bad_alloc();
  if (unit == kPage) madvise(memory, whole, MADV_HUGEPAGE);  // a hint: refused is fine
  return {static_cast<std::byte*>(memory), std::free};
}

}  // namespace tessera::memo
