// tessera._networks: what tessera/model.py is made of. To load it registers torch.ops.tessera
// (ops.cpp, memories.cpp).

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <concepts>
#include <memory>

#include "program/jobs/tokenizer_jobs.h"
#include "program/model_jobs/evaluate.h"
#include "program/model_jobs/model_jobs.h"
#include "python/binding/call.h"
#include "python/binding/errors.h"
#include "python/networks/open_model.h"

namespace tessera::python {
namespace {

using config::Json;

template <typename Job>
Json work(OpenModel& model, const Json& request, const OnProgress& on_progress) {
  const Turn turn(model.turns);
  const Job job = read_job<Job>(request);
  if constexpr (std::same_as<Job, jobs::Evaluate>)  // of files
    return job.run(model.folder, on_progress).json();
  else if constexpr (requires { job.run(model.folder.tokenizer); })
    return jobs::on_given_text([&] { return job.run(model.folder.tokenizer).json(); });
  else
    return jobs::on_given_text([&] { return job.run(model.folder, on_progress).json(); });
}

constexpr std::string_view kPaths[] = {"data"};

template <typename... Jobs>
std::vector<Call<OpenModel>> calls_of() {
  return {call_of<Jobs, OpenModel>(work<Jobs>, kPaths)...};
}

/// The jobs on a model.
const std::vector<Call<OpenModel>>& model_calls() {
  static const auto calls =
      calls_of<jobs::Generate, jobs::Score, jobs::LogLikelihood, jobs::Evaluate, jobs::Inspect,
               jobs::InspectionPage, jobs::Encode, jobs::Decode>();
  return calls;
}

}  // namespace

}  // namespace tessera::python

PYBIND11_MODULE(_networks, module) {
  namespace py = pybind11;
  using namespace tessera::python;
  share_errors(py::module_::import("tessera._stores"));
  module.def("jobs", [] { return described(model_calls()); });
  const py::call_guard<py::gil_scoped_release> releases_gil;
  py::class_<WrittenText>(module, "WrittenText")
      .def("__iter__", [](py::object text) { return text; })
      .def("__next__", [](WrittenText& text) {
        std::optional<tessera::Written> news;
        without_gil([&] { news = text.next(); });
        if (!news) throw py::stop_iteration();
        return object_of(news->text);
      });
  py::class_<OpenSession>(module, "OpenSession")
      .def("read",
           [](OpenSession& session, const py::object& given) {
             const std::string text = text_of(given);
             without_gil([&] { tessera::jobs::on_given_text([&] { session.read(text); }); });
           })
      .def("tokens", &OpenSession::tokens, releases_gil)
      .def("fork", &OpenSession::fork, releases_gil)
      .def("generate", [](OpenSession& session, const py::dict& request,
                          const py::object& progress) {
        const auto options = read_job<tessera::WritingOptions>(json_of(request));
        const auto on_progress = progress_to(progress);
        tessera::config::Json json;
        without_gil([&] {
          const auto generation = session.generate(options, on_progress);
          json = tessera::jobs::Generate::Answer{session.model().folder, "", generation}.json();
        });
        json.erase("prompt");
        return object_of(json);
      });
  py::class_<OpenModel, std::shared_ptr<OpenModel>>(module, "OpenModel")
      .def(py::init<const std::filesystem::path&, const std::optional<std::string>&,
                    const std::optional<std::string>&, const std::string&>(),
           releases_gil)
      .def("answer",
           [](OpenModel& model, const std::string& name, const py::dict& request,
              const py::object& progress) {
             return answer(model_calls(), model, name, request, progress);
           })
      .def_property_readonly("end_of_text",
                             [](const OpenModel& model) {
                               const auto end = model.folder.tokenizer.end_of_text();
                               return end ? std::optional(model.folder.text_of({*end}))
                                          : std::nullopt;
                             })
      .def("session", [](const std::shared_ptr<OpenModel>& model) { return OpenSession(model); })
      .def(
          "stream",
          [](OpenModel& model, const py::dict& request) {
            const auto job = read_job<tessera::jobs::Generate>(json_of(request));
            std::unique_ptr<WrittenText> text;
            without_gil([&] {
              tessera::jobs::on_given_text(
                  [&] { text = std::make_unique<WrittenText>(model, job.prompt, job.options); });
            });
            return text;
          },
          py::keep_alive<0, 1>());
}
