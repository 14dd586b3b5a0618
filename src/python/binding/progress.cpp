#include "python/binding/progress.h"

#include <chrono>

#include "tessera/base/error.h"

namespace tessera::python {

namespace py = pybind11;
using Clock = std::chrono::steady_clock;

bool heard_signal() {
  const py::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

jobs::OnProgress progress_to(py::handle function) {
  return [function, next = Clock::time_point{}](int64_t done, int64_t of) mutable {
    const auto now = Clock::now();
    if (now < next && done < of) return;
    next = now + std::chrono::milliseconds(100);
    const py::gil_scoped_acquire gil;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (!function.is_none()) function(done, of);
    } catch (py::error_already_set& error) {
      error.restore();
      throw Interrupted("interrupted");
    }
  };
}

}  // namespace tessera::python
