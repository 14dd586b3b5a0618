#pragma once

#include <filesystem>

#include "python/binding/call.h"
#include "python/stores/open_store.h"

namespace tessera::python {

/// The jobs on a store (program/jobs/store_jobs.h), and those that rewrite it (store_files.h).
const std::vector<Call<OpenStore>>& store_calls();

/// The jobs that need no store.
struct Alone {};
const std::vector<Call<const Alone>>& calls_alone();

/// The jobs that make a store in a folder.
const std::vector<Call<const std::filesystem::path>>& maker_calls();

}  // namespace tessera::python
