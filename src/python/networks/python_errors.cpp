#include "python/networks/python_errors.h"

#include <torch/csrc/Exceptions.h>

#include <exception>

#include "python/binding/errors.h"

namespace tessera::python {

void throw_python_error() {
  const pybind11::gil_scoped_acquire gil;
  set_python_error(std::current_exception());
  python_error error;
  error.persist();
  throw error;
}

}  // namespace tessera::python
