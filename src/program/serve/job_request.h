#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "program/serve/http.h"
#include "tessera/base/config.h"

namespace tessera::serve {

/// What the server demands of a job's fields beyond the job, by their names.
using Demands = std::map<std::string_view, config::Demand>;

/// Sets a job's fields from a request: from its JSON body, where null counts as absent, or from a
/// body of text/…, which is the field `text`; from its query; and from the placeholders of its path
/// but {store}. The parameter ?stream= is the server's own. Throws ApiError: 415 on a body of
/// another type, 400 on a field that is unknown, missing, of the wrong type or out of bounds, which
/// it names.
void read_fields(const Request& request, std::vector<config::Field> fields, const Demands& demands);

/// The job that a request asks for. Throws as read_fields().
template <config::Configuration Job>
Job read_job(const Request& request, const Demands& demands = {}) {
  Job job;
  read_fields(request, config::fields_of(job), demands);
  return job;
}

}  // namespace tessera::serve
