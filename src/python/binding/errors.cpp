#include "python/binding/errors.h"

#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

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

/// number: the errno of an OSError, which makes a FileNotFoundError of the one that says so. The
/// message may name a file whose name is not UTF-8.
void set_error(PyObject* kind, const std::exception& error, int number = 0) {
  const auto message = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(error.what(), std::ssize(std::string_view(error.what())), "replace"));
  if (!message) return;  // Python is out of memory, and says so
  if (number == 0) return PyErr_SetObject(kind, message.ptr());
  const auto raised =
      py::reinterpret_steal<py::object>(PyObject_CallFunction(kind, "iO", number, message.ptr()));
  if (raised) PyErr_SetObject(py::type::handle_of(raised).ptr(), raised.ptr());
}

}  // namespace

void set_python_error(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const DataError& error) {
    set_error(data_error, error);
  } catch (const UsageError& error) {
    set_error(usage_error, error);
  } catch (const SystemError& error) {
    set_error(PyExc_OSError, error, error.code());
  } catch (const std::system_error& error) {  // of std::filesystem
    set_error(PyExc_OSError, error, error.code().value());
  } catch (const Interrupted& error) {
    if (PyErr_Occurred() == nullptr) set_error(PyExc_KeyboardInterrupt, error);
  }
}

void add_errors(py::module_& module) {
  data_error = add_error(
      module, "DataError",
      "A file or a text is damaged or of the wrong kind. The message names it and says where.",
      PyExc_Exception);
  usage_error = add_error(module, "UsageError",
                          "An argument asks for something that does not exist or makes no sense.",
                          PyExc_ValueError);
  py::register_local_exception_translator(set_python_error);
}

void share_errors(const py::module_& other) {
  data_error = py::object(other.attr("DataError")).release().ptr();
  usage_error = py::object(other.attr("UsageError")).release().ptr();
  py::register_local_exception_translator(set_python_error);
}

}  // namespace tessera::python
