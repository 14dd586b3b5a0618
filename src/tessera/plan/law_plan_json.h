#pragma once

#include "tessera/base/config.h"
#include "tessera/plan/law_plan.h"

namespace tessera::theory {

/// What `tessera plan --json` and `POST /v1/plan` say of a plan. "samples" is null where the law is
/// known without any; "simulated" is absent where nothing was simulated.
config::Json json_of(const LawPlan& plan);

}  // namespace tessera::theory
