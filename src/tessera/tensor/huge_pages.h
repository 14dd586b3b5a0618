#pragma once

#include <ATen/core/Tensor.h>

namespace tessera {

/// Moves the memory in which a tensor lies on the CPU into pages of 2 MiB, its neighbours on the
/// same pages too; contents and addresses stay. Reading a large matrix from end to end is faster
/// then: fewer translations of addresses, and the processor reads ahead within a page. A hint: the
/// system may decline, or know no such pages.
void move_to_huge_pages(const at::Tensor& tensor);

}  // namespace tessera
