#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "python/binding/progress.h"
#include "python/binding/values.h"
#include "tessera/base/error.h"

namespace tessera::python {

/// A job that Python may ask of a Target: tessera/_jobs.py makes a method of it.
template <typename Target>
struct Call {
  using Work = config::Json (*)(Target& target, const config::Json& request,
                                const OnProgress& on_progress);

  std::string_view name, help;
  config::Json fields;  ///< as described() gives them
  Work work;
};

/// work: reads the job from the request, does it, and gives its answer. paths: names of fields that
/// hold paths, or ids made of them.
template <typename Job, typename Target>
Call<Target> call_of(typename Call<Target>::Work work,
                     std::span<const std::string_view> paths = {}) {
  return {Job::kName, Job::kHelp, described(config::fields_of(Job()), paths), work};
}

template <typename Job>
Job read_job(const config::Json& request) {
  Job job;
  config::from_json(with_lists(request, config::fields_of(job)), job, "");
  return job;
}

/// {"name", "help", "fields"} of each.
template <typename Target>
pybind11::object described(const std::vector<Call<Target>>& calls) {
  config::Json list = config::Json::array();
  for (const Call<Target>& call : calls)
    list.push_back({{"name", call.name}, {"help", call.help}, {"fields", call.fields}});
  return object_of(list);
}

/// The answer of the one with this name. The GIL is released while it works. progress: None, or a
/// function as progress_to() calls it.
template <typename Target>
pybind11::object answer(const std::vector<Call<Target>>& calls, Target& target,
                        const std::string& name, const pybind11::dict& request,
                        const pybind11::object& progress) {
  const auto call = std::ranges::find(calls, name, &Call<Target>::name);
  check_argument(call != calls.end(), "there is no job '{}'", name);
  const config::Json fields = request_of(request, call->fields);
  const OnProgress on_progress = progress_to(progress);
  config::Json json;
  without_gil([&] { json = call->work(target, fields, on_progress); });
  return object_of(json);
}

}  // namespace tessera::python
