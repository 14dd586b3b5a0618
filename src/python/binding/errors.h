#pragma once

#include <pybind11/pybind11.h>

namespace tessera::python {

/// Adds the exceptions that the library's errors become to a module, and sees to it that they do,
/// in all modules of the package: DataError is tessera.DataError; UsageError is tessera.UsageError,
/// a ValueError; SystemError and those of std::filesystem are OSError, with the errno where it is
/// known; Interrupted is KeyboardInterrupt, or what Python had already raised.
void add_errors(pybind11::module_& module);

}  // namespace tessera::python
