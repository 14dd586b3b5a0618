#pragma once

#include <pybind11/pybind11.h>

#include "tessera/base/config.h"

namespace tessera::python {

/// None, a bool, a number, a text or a path, or a sequence, array, tensor or dict of these. Throws
/// TypeError on another object, and what Python throws where a text is not Unicode, a whole number
/// has more than 64 bits, or a list holds itself.
config::Json json_of(pybind11::handle value);

/// The same in Python; an object becomes a tessera.Answer. Bytes that are not UTF-8 become U+FFFD.
pybind11::object object_of(const config::Json& json);

/// The fields of a configuration as Python's signatures need them: {"name", "type", "default",
/// "required", "help"} each. type: as an annotation, "float | None".
config::Json described(const std::vector<config::Field>& fields);

}  // namespace tessera::python
