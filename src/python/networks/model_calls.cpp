#include "python/networks/model_calls.h"

#include "program/jobs/tokenizer_jobs.h"
#include "program/model_jobs/evaluate.h"

namespace tessera::python {
namespace {

using config::Json;

template <typename Job>
Json work(OpenModel& model, const Json& request, const jobs::OnProgress& on_progress) {
  const Turn turn(model.turns);
  const Job job = read_job<Job>(request);
  if constexpr (requires { job.run(model.folder.tokenizer); })
    return job.run(model.folder.tokenizer).json();
  else
    return job.run(model.folder, on_progress).json();
}

template <typename... Jobs>
std::vector<Call<OpenModel>> calls_of() {
  return {call_of<Jobs, OpenModel>(work<Jobs>)...};
}

}  // namespace

const std::vector<Call<OpenModel>>& model_calls() {
  static const auto calls =
      calls_of<jobs::Generate, jobs::Score, jobs::LogLikelihood, jobs::Evaluate, jobs::Inspect,
               jobs::InspectionPage, jobs::Encode, jobs::Decode>();
  return calls;
}

}  // namespace tessera::python
