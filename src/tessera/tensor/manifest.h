#pragma once

#include <cstdint>

#include "tessera/base/config.h"

namespace tessera {

/// What this program is and runs on: "tessera" (version), "revision" (of the sources, as git
/// describes them; "unknown" outside a repository), "compiler", "libraries" (LibTorch, OpenBLAS
/// with the kernels it chose, oneDNN) and "machine" (processor, cores, instruction_sets,
/// memory_gib, threads, system). For `tessera --version`.
config::Json build_description();

/// What stands beside every result: "seed", "date" (UTC, ISO 8601) and build_description().
config::Json manifest(uint64_t seed);

}  // namespace tessera
