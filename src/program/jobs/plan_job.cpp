#include "program/jobs/plan_job.h"

#include "tessera/base/error.h"

namespace tessera::jobs {

theory::LawPlan Plan::run(const OnProgress& on_progress, const std::stop_token& stop) const {
  check_argument(alpha.has_value(), "alpha is missing: the exponent of the inputs' Zipf law");
  check_argument(inputs.has_value(), "inputs is missing: how many different inputs there are");
  check_argument(outputs.has_value(), "outputs is missing: how many different answers there are");
  return run_on(theory::planned_zipf_law(*inputs, *outputs, *alpha), on_progress, stop);
}

theory::LawPlan Plan::run_on(const theory::PlannedLaw& law, const OnProgress& on_progress,
                             const std::stop_token& stop) const {
  check_argument(error.has_value() != dimension.has_value(),
                 "give either error (to learn the size) or dimension (to learn what it holds)");
  theory::LawPlan plan = error ? theory::plan_for_error(law, *error, runs, seed, stop)
                               : theory::plan_in_dimension(law, *dimension, runs, seed, stop);
  const auto tell = [&](int64_t done, int64_t of) {
    if (stop.stop_requested()) throw Interrupted("the plan was given up");
    if (on_progress) on_progress(done, of);
  };
  if (!error_only) theory::compare_schemes(law, plan, tell);
  return plan;
}

}  // namespace tessera::jobs
