#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "tessera/base/config.h"

namespace tessera::hosts {

/// JSON that a host answered. Throws HostError where it is not JSON.
nlohmann::json parse_answer(const std::string& text);
/// what: names the number in the message. Throws HostError on anything but a whole number in this
/// range.
int64_t whole_number(const nlohmann::json& value, const char* what, int64_t least, int64_t most);

/// Reads the fields of a JSON object that a host answered. Members throw HostError, which names the
/// field, where it is missing or not what it should be.
class AnswerFields {
 public:
  /// The object must outlive it.
  explicit AnswerFields(const nlohmann::json& object);

  const nlohmann::json& value(const char* name) const;
  int64_t whole(const char* name, int64_t least, int64_t most) const;
  std::string text(const char* name) const;
  /// A list of at most so many values.
  const nlohmann::json& list(const char* name, size_t most) const;

 private:
  const nlohmann::json& object_;
};

}  // namespace tessera::hosts
