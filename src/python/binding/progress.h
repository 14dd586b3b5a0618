#pragma once

#include <pybind11/pybind11.h>

#include "program/jobs/store_jobs.h"

namespace tessera::python {

/// For work that is done without the GIL: whether Ctrl-C has come. Python's exception is then set.
bool heard_signal();

/// Hears Ctrl-C and calls a function of Python's with (done, of), ten times a second at most and at
/// the end. The function may be None; it must outlive the result. Where either raises, that
/// exception is set and Interrupted is thrown.
jobs::OnProgress progress_to(pybind11::handle function);

}  // namespace tessera::python
