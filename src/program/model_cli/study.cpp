// tessera study --list | tessera study ID

#include "lab/study/study.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "program/cli/program.h"
#include "program/model_cli/model_verbs.h"
#include "tessera/base/interrupt.h"
#include "tessera/report/picture_files.h"
#include "tessera/tensor/manifest.h"

namespace tessera::cli {
namespace {

struct StudyArguments {
  std::string id, out;
  bool list = false, json = false, quick = false, paper = false;
  bool png = false, pdf = false;
  int64_t seed = 1;  // config.toml holds 63 bits
  std::vector<std::string> settings;
};

/// Each size has a folder of its own, so that the larger one may follow the quick one.
std::string folder_of(const std::string& id, StudySize size) {
  return "runs/" + id + (size == StudySize::kDefault ? "" : "-" + config::enum_name(size));
}

void list_studies(bool as_json) {
  if (as_json) {
    config::Json list = config::Json::array();
    for (const auto& study : all_studies())
      list.push_back({{"id", study.id},
                      {"title", study.title},
                      {"paper", study.paper},
                      {"figure", study.figure},
                      {"quick_seconds", study.cost.quick.seconds},
                      {"default_seconds", study.cost.standard.seconds}});
    fmt::print("{}\n", list.dump(2));
    return;
  }
  fmt::print("{:<34} {:>13} {:>13}  {}\n", "study", "--quick", "default", "what (on two cores)");
  for (const auto& study : all_studies())
    fmt::print("{:<34} {:>13} {:>13}  {} ({}, {})\n", study.id, text_of(study.cost.quick),
               text_of(study.cost.standard), study.title, study.paper, study.figure);
}

StudyOptions study_options(const StudyArguments& options) {
  StudyOptions result;
  result.size = options.quick   ? StudySize::kQuick
                : options.paper ? StudySize::kPaper
                                : StudySize::kDefault;
  result.seed = options.seed;
  result.threads = at::get_num_threads();
  result.folder = options.out.empty() ? folder_of(options.id, result.size) : options.out;
  result.progress = stderr;
  result.overrides = with_settings(options.settings);
  result.manifest = manifest(options.seed);
  return result;
}

/// After a signal it stops behind the picture that is being written.
void add_picture_files(const StudyResults& results, const std::filesystem::path& folder,
                       PictureFormat format) {
  for (const std::string& name : results.chart_names()) {
    InterruptGuard::stop_if_interrupted(
        fmt::format("interrupted; the results and the SVG pictures are in {}, {}.{} and later "
                    "files are not written",
                    folder.native(), name, config::enum_name(format)));
    convert_picture(folder / (name + ".svg"), format);
  }
}

void run_named_study(const StudyArguments& options) {
  if (options.list) return list_studies(options.json);
  if (options.json) throw UsageError("--json goes with --list; a study writes results.csv");
  if (options.id.empty()) throw UsageError("name a study; 'tessera study --list' shows them all");
  if (options.png || options.pdf) require_picture_converter();
  const StudyOptions how = study_options(options);
  const InterruptGuard interrupt;
  const StudyResults results = run_study(find_study(all_studies(), options.id), how);
  fmt::print("{}\nReport: {}\n", results.summary(), (how.folder / "report.html").native());
  if (options.png) add_picture_files(results, how.folder, PictureFormat::kPng);
  if (options.pdf) add_picture_files(results, how.folder, PictureFormat::kPdf);
  InterruptGuard::stop_if_interrupted(
      fmt::format("interrupted; everything is written to {}", how.folder.native()));
}

/// Below the options: the settings of the study that was named.
std::string settings_help(const std::string& id) {
  if (id.empty()) return "'tessera study ID --help' shows the settings of a study.";
  const std::string settings = describe_settings(find_study(all_studies(), id));
  if (settings.empty()) return id + " has no settings.";
  return fmt::format("Settings of {}, for --set:\n{}", id, settings);
}

}  // namespace

void add_study(Verb& program) {
  auto options = std::make_shared<StudyArguments>();
  Verb& verb = program.verb(
      "study", "Reproduce one figure or table of a paper, with the published numbers beside ours");
  verb.option("id", options->id, "The study, for example scaling-laws/fig1");
  verb.flag("--list", options->list, "List all studies");
  verb.flag("--json", options->json, "Print the list as JSON");
  const Option quick =
      verb.flag("--quick", options->quick, "A smaller set-up that takes seconds to minutes");
  verb.flag("--paper", options->paper, "The paper's own set-up").excludes(quick);
  verb.option("--out", options->out,
              "Folder for the results; without it, runs/ID, runs/ID-quick or runs/ID-paper");
  verb.option("--seed", options->seed, "Random seed").at_least(0);
  verb.option("--set", options->settings, "Override a setting: key=value");
  verb.flag("--png", options->png, "Write each picture as PNG, too (needs rsvg-convert)");
  verb.flag("--pdf", options->pdf, "Write each picture as PDF, too (needs rsvg-convert)");
  verb.footer([options] { return settings_help(options->id); });
  verb.run([options] { run_named_study(*options); });
}

}  // namespace tessera::cli
