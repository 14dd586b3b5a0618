#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "tessera/base/config.h"

namespace tessera::python {

/// A text or a path. Throws TypeError on another object, and what Python throws where a text is not
/// Unicode.
std::string text_of(pybind11::handle value);

/// None, a bool, a number, a text or a path, or what iterates over these, an array, a tensor or a
/// dict of them. Throws as text_of(), where an entry of a dict is to blame with its key, and what
/// Python throws where a whole number has more than 64 bits or a list holds itself.
config::Json json_of(pybind11::handle value);

/// The request for these fields, where one text may stand for a list of one, and a dict for
/// metadata. Throws UsageError where that has other values than texts or a key with '='.
config::Json with_lists(config::Json request, const std::vector<config::Field>& fields);

/// The same in Python; an object becomes a tessera.Answer. Bytes that are not UTF-8 become U+FFFD.
pybind11::object object_of(const config::Json& json);

/// The fields of a configuration as Python's signatures need them: {"name", "type", "default",
/// "required", "help"} each. type: as an annotation, "float | None".
config::Json described(const std::vector<config::Field>& fields);

}  // namespace tessera::python
