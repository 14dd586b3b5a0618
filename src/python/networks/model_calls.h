#pragma once

#include "program/model_jobs/model_jobs.h"
#include "python/binding/call.h"
#include "python/networks/open_model.h"

namespace tessera::python {

/// The jobs on a model.
const std::vector<Call<OpenModel>>& model_calls();

}  // namespace tessera::python
