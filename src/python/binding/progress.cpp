#include "python/binding/progress.h"

#include <chrono>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"

namespace tessera::python {

namespace py = pybind11;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(100);
unsigned long main_thread = 0;

}  // namespace

bool heard_signal() {
  static bool heard = false;
  static Clock::time_point next;
  if (PyThread_get_thread_ident() != main_thread) return false;  // Python tells no other one
  const auto now = Clock::now();
  if (!heard && now < next) return false;
  next = now + kBetweenLooks;
  const py::gil_scoped_acquire gil;
  heard = PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0;
  return heard;
}

void hear_signals() {
  const py::object main = py::module_::import("threading").attr("main_thread")();
  main_thread = main.attr("ident").cast<unsigned long>();
  InterruptGuard::also_ask(heard_signal);
}

OnProgress progress_to(py::handle function) {
  return [function, next = Clock::time_point{}](int64_t done, int64_t of) mutable {
    const auto now = Clock::now();
    if (now < next && (done < of || of == 0)) return;
    next = now + kBetweenLooks;
    const py::gil_scoped_acquire gil;
    try {
      if (PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (of > 0 && !function.is_none()) function(done, of);
    } catch (py::error_already_set& error) {
      error.restore();
      throw Interrupted("interrupted");
    }
  };
}

}  // namespace tessera::python
