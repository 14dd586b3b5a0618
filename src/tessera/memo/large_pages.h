#pragma once

#include <cstdint>
#include <memory>

namespace tessera {

/// Uninitialised memory for a matrix that is read from end to end, at the start of a cache line,
/// and in large pages where it is large: in small ones every row costs an address translation.
/// Throws std::bad_alloc.
std::shared_ptr<void> allocate_matrix(int64_t bytes);

}  // namespace tessera
