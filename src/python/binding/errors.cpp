#include "python/binding/errors.h"

#include "tessera/base/error.h"

namespace tessera::python {
namespace {

namespace py = pybind11;

PyObject* data_error = nullptr;
PyObject* usage_error = nullptr;

PyObject* add_error(py::module_& module, const char* name, const char* help, PyObject* base) {
  const std::string path = std::string("tessera.") + name;
  PyObject* const error = PyErr_NewExceptionWithDoc(path.c_str(), help, base, nullptr);
  if (error == nullptr) throw py::error_already_set();
  module.add_object(name, error);
  return error;
}

void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const DataError& error) {
    PyErr_SetString(data_error, error.what());
  } catch (const UsageError& error) {
    PyErr_SetString(usage_error, error.what());
  } catch (const SystemError& error) {
    PyErr_SetString(PyExc_OSError, error.what());
  } catch (const Interrupted& error) {
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_KeyboardInterrupt, error.what());
  }
}

}  // namespace

void add_errors(py::module_& module) {
  data_error = add_error(
      module, "DataError",
      "A file or a text is damaged or of the wrong kind. The message names it and says where.",
      PyExc_Exception);
  usage_error = add_error(module, "UsageError",
                          "An argument asks for something that does not exist or makes no sense.",
                          PyExc_ValueError);
  py::register_exception_translator(translate);
}

}  // namespace tessera::python
