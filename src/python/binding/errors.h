#pragma once

#include <pybind11/pybind11.h>

#include <exception>

namespace tessera::python {

/// Adds the exceptions that the library's errors become to a module, whose functions raise them:
/// DataError is tessera.DataError; UsageError is tessera.UsageError, a ValueError; SystemError and
/// those of std::filesystem are OSError, with the errno where it is known; Interrupted is
/// KeyboardInterrupt, or what Python had already raised.
void add_errors(pybind11::module_& module);

/// Lets the functions of the module that is being loaded raise the exceptions of `other`.
void share_errors(const pybind11::module_& other);

/// Raises in Python what this error of the library becomes. Throws any other again.
void set_python_error(std::exception_ptr thrown);

}  // namespace tessera::python
