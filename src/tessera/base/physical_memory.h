#pragma once

#include <cstdint>

namespace tessera {

/// Bytes of memory that this machine has, whoever uses them. For a job that would need more, so
/// that it is refused before it starts.
int64_t physical_memory();

/// Bytes of it that this process uses now; 0 where the system does not tell.
int64_t resident_memory();

}  // namespace tessera
