#pragma once

#include <pybind11/pybind11.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/config.h"

namespace tessera::python {

/// A text. Throws TypeError on another object, and what Python throws where a text is not Unicode.
std::string text_of(pybind11::handle value);

enum class Paths { kRefused, kTexts };

/// None, a bool, a number, a text, or what iterates over these, an array, a tensor or a dict of
/// them; also a path, where paths are texts. Throws as text_of(), where an entry of a dict is to
/// blame with its key, and what Python throws where a whole number has more than 64 bits or a list
/// holds itself.
config::Json json_of(pybind11::handle value, Paths paths = Paths::kRefused);

/// The same of the arguments for these fields, as described() gives them.
config::Json request_of(const pybind11::dict& request, const config::Json& fields);

/// The request for these fields, where one text may stand for a list of one, and a dict for
/// metadata. Throws UsageError where that has other values than texts or a key with '='.
config::Json with_lists(config::Json request, const std::vector<config::Field>& fields);

/// The same in Python; an object becomes a tessera.Answer. Bytes that are not UTF-8 become U+FFFD.
pybind11::object object_of(const config::Json& json);

/// The fields of a configuration as Python's signatures need them: {"name", "type", "default",
/// "required", "help"} each. type: as an annotation, "float | None"; "StrPath" in the place of
/// "str" for fields of these names, which take paths.
config::Json described(const std::vector<config::Field>& fields,
                       std::span<const std::string_view> paths);

}  // namespace tessera::python
