#pragma once

#include <pybind11/pybind11.h>

#include "program/jobs/store_jobs.h"

namespace tessera::python {

/// For work that is done without the GIL: whether Ctrl-C has come, which only the main thread
/// hears. Python's exception is then set. Looks ten times a second at most.
bool heard_signal();
/// Has InterruptGuard, which all long work asks, ask heard_signal(), too. To be called on import.
void hear_signals();

/// Does this work without the GIL. Throws what it throws, and what Python has raised meanwhile.
template <typename Work>
void without_gil(Work&& work) {
  {
    const pybind11::gil_scoped_release no_gil;
    work();
  }
  if (PyErr_Occurred() != nullptr) throw pybind11::error_already_set();
}

/// Hears Ctrl-C and calls a function of Python's with (done, of), of > 0, ten times a second at
/// most and at the end. The function may be None; it must outlive the result. Where either raises,
/// that exception is set and Interrupted is thrown.
OnProgress progress_to(pybind11::handle function);

}  // namespace tessera::python
