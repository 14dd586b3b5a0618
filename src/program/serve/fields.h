#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/serve/http.h"
#include "tessera/base/config.h"

namespace tessera::serve {

/// The JSON object of a request's body. Throws ApiError: 415 unless the Content-Type is JSON's, 400
/// where the body is not a JSON object.
nlohmann::json json_body(const Request& request);

/// Reads the fields of a request's JSON object. A field that is null counts as absent. A field of
/// the wrong type or out of its range is ApiError 400, which names it, what was found and what was
/// expected; fields that nobody asks for are ignored, as OpenAI's API does.
class Fields {
 public:
  /// The object must outlive it. name: of the field that holds it. Throws ApiError 400 unless it is
  /// an object.
  explicit Fields(const nlohmann::json& object, const std::string& name = "");

  bool has(const std::string& name) const;
  std::optional<std::string> text(const std::string& name) const;
  /// Throws where there is none.
  std::string required_text(const std::string& name) const;
  /// Sets those of these fields that the object names. Throws ApiError 400 as the others, also
  /// where one that is required is missing.
  void read(const std::vector<config::Field>& fields) const;
  /// The value itself; null where there is none.
  const nlohmann::json& value(const std::string& name) const;

  /// Throws ApiError 400: "<name> is <found>, expected <expected>".
  [[noreturn]] void refuse(const std::string& name, const std::string& expected) const;

 private:
  const nlohmann::json& object_;
};

/// Whether the query has "?name=true". Throws ApiError 400 on a value that is neither "true" nor
/// "false".
bool flag(const Request& request, const std::string& name);

/// What the server demands of a job's fields beyond the job, by their names.
using Demands = std::map<std::string_view, config::Demand>;

/// Sets a job's fields from a request: from its JSON body, where null counts as absent, or from a
/// body of text/…, which is the field `text`; from its query; and from the placeholders of its path
/// but {store}. The parameter ?stream= is the server's own. Throws ApiError: 415 on a body of
/// another type, 400 on a field that is unknown, missing, given twice, of the wrong type or out of
/// bounds, which it names.
void read_fields(const Request& request, std::vector<config::Field> fields, const Demands& demands);

/// The job that a request asks for. Throws as read_fields().
template <config::Configuration Job>
Job read_job(const Request& request, const Demands& demands = {}) {
  Job job;
  read_fields(request, config::fields_of(job), demands);
  return job;
}

}  // namespace tessera::serve
