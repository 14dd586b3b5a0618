#include "tessera/tensor/huge_pages.h"

#include <ATen/core/TensorBody.h>
#include <sys/mman.h>

#include <cstdint>

namespace tessera {
namespace {

#ifndef MADV_COLLAPSE
constexpr int MADV_COLLAPSE = 25;  // Linux 6.1; glibc 2.36 does not name it
#endif

}  // namespace

void move_to_huge_pages(const at::Tensor& tensor) {
  constexpr uintptr_t kPage = uintptr_t{1} << 21;
  if (!tensor.defined() || !tensor.device().is_cpu() || tensor.nbytes() == 0) return;
  const auto first = reinterpret_cast<uintptr_t>(tensor.data_ptr());
  const uintptr_t end = first + tensor.nbytes();
  // One by one: the system stops at the first page that it cannot move.
  for (uintptr_t page = first / kPage * kPage; page < end; page += kPage)
    madvise(reinterpret_cast<void*>(page), kPage, MADV_COLLAPSE);
}

}  // namespace tessera
