// tessera._stores: what tessera/store.py is made of.

#include <pybind11/stl/filesystem.h>

#include <memory>
#include <string>

#include "python/binding/errors.h"
#include "python/stores/store_calls.h"
#include "tessera/base/version.h"

PYBIND11_MODULE(_stores, module) {
  namespace py = pybind11;
  using namespace tessera::python;
  add_errors(module);
  hear_signals();
  module.attr("__version__") = tessera::version();
  module.def("jobs", [] { return described(store_calls()); });
  module.def("functions", [] { return described(calls_alone()); });
  module.def("call",
             [](const std::string& name, const py::dict& request, const py::object& progress) {
               const Alone alone;
               return answer(calls_alone(), alone, name, request, progress);
             });
  module.def("makers", [] { return described(maker_calls()); });
  module.def("make", [](const std::filesystem::path& folder, const std::string& name,
                        const py::dict& request, const py::object& progress) {
    return answer(maker_calls(), folder, name, request, progress);
  });
  const py::call_guard<py::gil_scoped_release> releases_gil;
  py::class_<OpenStore>(module, "OpenStore")
      .def(py::init([](const std::filesystem::path& folder) {
             return std::make_unique<OpenStore>(folder, heard_signal);
           }),
           releases_gil)
      .def("answer",
           [](OpenStore& store, const std::string& name, const py::dict& request,
              const py::object& progress) {
             return answer(store_calls(), store, name, request, progress);
           })
      .def("close", &OpenStore::close, releases_gil)
      .def_property_readonly("closed", &OpenStore::closed);
}
