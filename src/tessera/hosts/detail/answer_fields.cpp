#include "tessera/hosts/detail/answer_fields.h"

#include <fmt/format.h>

#include "tessera/base/error.h"
#include "tessera/hosts/detail/http_client.h"

namespace tessera::hosts {

using nlohmann::json;

json parse_answer(const std::string& text) {
  try {
    return config::parse_sorted_json(text, "its answer");
  } catch (const DataError& error) {
    throw HostError(error.what());
  }
}

int64_t whole_number(const json& value, const char* what, int64_t least, int64_t most) {
  const bool fits = value.is_number_integer() &&
                    !(value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX);
  if (!fits || value.get<int64_t>() < least || value.get<int64_t>() > most)
    throw HostError(fmt::format("its answer has {} that is not a whole number from {} to {}", what,
                                least, most));
  return value.get<int64_t>();
}

AnswerFields::AnswerFields(const json& object) : object_(object) {
  if (!object.is_object())
    throw HostError("its answer has something else in the place of an object");
}

const json& AnswerFields::value(const char* name) const {
  const auto found = object_.find(name);
  if (found == object_.end()) throw HostError(fmt::format("its answer lacks '{}'", name));
  return *found;
}

int64_t AnswerFields::whole(const char* name, int64_t least, int64_t most) const {
  return whole_number(value(name), name, least, most);
}

std::string AnswerFields::text(const char* name) const {
  const json& found = value(name);
  if (!found.is_string())
    throw HostError(fmt::format("its answer has a '{}' that is not a text", name));
  return found.get<std::string>();
}

const json& AnswerFields::list(const char* name, size_t most) const {
  const json& found = value(name);
  if (!found.is_array() || found.size() > most)
    throw HostError(
        fmt::format("its answer has a '{}' that is not a list of at most {}", name, most));
  return found;
}

}  // namespace tessera::hosts
