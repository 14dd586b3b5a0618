#pragma once

#include "python/binding/call.h"
#include "python/stores/open_store.h"

namespace tessera::python {

/// The jobs on a store (program/jobs/store_jobs.h).
const std::vector<Call<OpenStore>>& store_calls();

}  // namespace tessera::python
