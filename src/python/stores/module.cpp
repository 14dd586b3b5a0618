// tessera._stores: what tessera/store.py is made of.

#include <omp.h>
#include <pybind11/stl/filesystem.h>

#include <concepts>
#include <filesystem>
#include <memory>
#include <string>

#include "program/jobs/audit_job.h"
#include "program/jobs/file_jobs.h"
#include "program/jobs/plan_job.h"
#include "program/jobs/store_files.h"
#include "program/jobs/store_jobs.h"
#include "python/binding/call.h"
#include "python/binding/errors.h"
#include "python/stores/open_store.h"
#include "tessera/base/version.h"

namespace tessera::python {
namespace {

using config::Json;

template <typename Job>
concept Reads = requires(const Job& job, const store::MemoStore& store) {
  job.run(store, OnProgress());
};

template <typename Job>
concept TakesFolder = requires(const Job& job, const std::filesystem::path& folder) {
  job.run(folder, OnProgress());
};

/// Forgotten text is erased before the call returns; the matrix may wait for the last edit of
/// several.
template <typename Job>
constexpr bool erases = std::same_as<Job, jobs::Forget> || std::same_as<Job, jobs::Update>;

template <typename Job>
Json work(OpenStore& store, const Json& request, const OnProgress& on_progress) {
  const Job job = read_job<Job>(request);
  Json json;
  const auto run = [&](auto& open) { json = job.run(open, on_progress).json(); };
  if constexpr (TakesFolder<Job>)
    store.alone(run);
  else if constexpr (Reads<Job>)
    store.read(run);
  else
    store.edit([&](store::MemoWriter& writer) {
      run(writer);
      if constexpr (erases<Job>) writer.checkpoint();
    });
  return json;
}

template <typename Job>
Json make(const std::filesystem::path& folder, const Json& request, const OnProgress& on_progress) {
  return read_job<Job>(request).run(folder, on_progress).json();
}

constexpr std::string_view kPaths[] = {"id",    "files",     "exclude",   "controls", "out",
                                       "texts", "tokenizer", "plan_from", "stores"};

template <typename... Jobs>
std::vector<Call<OpenStore>> calls_of() {
  return {call_of<Jobs, OpenStore>(work<Jobs>, kPaths)...};
}

template <typename... Jobs>
std::vector<Call<const std::filesystem::path>> makers_of() {
  return {call_of<Jobs, const std::filesystem::path>(make<Jobs>, kPaths)...};
}

struct Alone {};

Json plan(const Alone&, const Json& request, const OnProgress& on_progress) {
  return theory::json_of(read_job<jobs::Plan>(request).run(on_progress));
}

/// The jobs that need no store.
const std::vector<Call<const Alone>>& calls_alone() {
  static const std::vector calls = {call_of<jobs::Plan, const Alone>(plan)};
  return calls;
}

/// The jobs on a store (program/jobs/store_jobs.h), and those that rewrite it (store_files.h).
const std::vector<Call<OpenStore>>& store_calls() {
  static const auto calls =
      calls_of<jobs::Memorize, jobs::Update, jobs::Forget, jobs::Recall, jobs::Ask, jobs::Complete,
               jobs::Find, jobs::Search, jobs::Documents, jobs::Show, jobs::Stat, jobs::Verify,
               jobs::Audit, jobs::Rebuild, jobs::Export>();
  return calls;
}

/// The jobs that make a store in a folder.
const std::vector<Call<const std::filesystem::path>>& maker_calls() {
  static const auto calls = makers_of<jobs::Create, jobs::Merge>();
  return calls;
}

}  // namespace

}  // namespace tessera::python

PYBIND11_MODULE(_stores, module) {
  namespace py = pybind11;
  using namespace tessera::python;
  add_errors(module);
  hear_signals();
  // OpenMP would wait for threads that ended with the fork().
  py::module_::import("os").attr("register_at_fork")(
      py::arg("after_in_child") = py::cpp_function([] { omp_set_num_threads(1); }));
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
