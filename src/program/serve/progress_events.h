#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "program/jobs/store_jobs.h"
#include "program/serve/http.h"

namespace tessera::serve {

using jobs::OnProgress;

/// The answer of a long job. `stream`: as events {"done": …, "of": …}, at most ten a second, and at
/// the end the job's result as one event; else its result alone, with this status. What the job
/// throws becomes an error, in a stream as an event.
Response long_answer(bool stream, int status,
                     std::function<nlohmann::ordered_json(const OnProgress&)> job);

}  // namespace tessera::serve
