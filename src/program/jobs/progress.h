#pragma once

#include <cstdint>
#include <functional>

namespace tessera::jobs {

/// Told how far a job is: so much done, of so much. It may throw Interrupted, which ends the job,
/// where the answer is not wanted any more.
using OnProgress = std::function<void(int64_t done, int64_t of)>;

}  // namespace tessera::jobs
