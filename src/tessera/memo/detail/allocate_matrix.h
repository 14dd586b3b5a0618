#pragma once

#include <cstdint>
#include <memory>

namespace tessera::memo {

/// Uninitialised memory, aligned to a cache line, for a matrix that is read from end to end. A
/// large matrix is put into large pages: in small ones every row costs an address translation.
/// Throws std::bad_alloc.
std::shared_ptr<void> allocate_matrix(int64_t bytes);

}  // namespace tessera::memo
