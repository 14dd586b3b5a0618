#include "tessera/memo/detail/allocate_matrix.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace tessera::memo {

std::shared_ptr<void> allocate_matrix(int64_t bytes) {
  constexpr size_t kLine = 64, kPage = size_t{1} << 21;
  const size_t unit = static_cast<size_t>(bytes) < kPage ? kLine : kPage;
  const size_t whole = (static_cast<size_t>(bytes) + unit - 1) / unit * unit;
  void* memory = std::aligned_alloc(unit, std::max(unit, whole));
  if (!memory) throw std::bad_alloc();
  if (unit == kPage) madvise(memory, whole, MADV_HUGEPAGE);  // a hint: refused is fine
  return {memory, std::free};
}

}  // namespace tessera::memo
