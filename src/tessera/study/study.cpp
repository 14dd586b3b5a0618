#include "tessera/study/study.h"

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/suggestion.h"
#include "tessera/study/memo/studies.h"
#include "tessera/study/memory_mosaics/studies.h"
#include "tessera/study/scaling_laws/studies.h"
#include "tessera/study/stm/studies.h"

namespace tessera {
namespace {

using config::Json;

// " --set key=value" for every override; keys of tables in it are joined by dots.
std::string settings_of(const Json& overrides, const std::string& path) {
  std::string text;
  for (const auto& [name, value] : overrides.items()) {
    const bool plain = value.is_number() || value.is_boolean();
    if (value.is_object())
      text += settings_of(value, path + name + ".");
    else
      text += plain ? fmt::format(" --set {}{}={}", path, name, value.dump())
                    : fmt::format(" --set '{}{}={}'", path, name, value.dump());
  }
  return text;
}

// The command that runs this study again with the same numbers.
std::string command_of(const Study& study, const StudyOptions& options) {
  std::string command = "tessera study " + study.id;
  if (options.size == StudySize::kQuick) command += " --quick";
  if (options.size == StudySize::kPaper) command += " --paper";
  if (options.seed != StudyOptions().seed) command += fmt::format(" --seed {}", options.seed);
  return command + settings_of(options.overrides, "");
}

Json resolved_config(const Study& study, const StudyOptions& options, const Json& settings) {
  Json config = {{"study", study.id},
                 {"size", config::enum_name(options.size)},
                 {"seed", options.seed},
                 {"threads", options.threads}};
  if (!settings.empty()) config["settings"] = settings;
  return config;
}

Json manifest_of(const Study& study, const StudyOptions& options, const std::string& command) {
  Json manifest = {{"study", study.id}, {"command", command}, {"seed", options.seed}};
  for (const auto& [name, value] : options.manifest.items()) manifest[name] = value;
  return manifest;
}

}  // namespace

const std::vector<Study>& all_studies() {
  static const std::vector<Study> studies = [] {
    std::vector<Study> all = memory_mosaics_studies();
    for (Study& study : memo_studies()) all.push_back(std::move(study));
    for (Study& study : stm_studies()) all.push_back(std::move(study));
    for (Study& study : scaling_law_studies()) all.push_back(std::move(study));
    return all;
  }();
  return studies;
}

const Study& find_study(const std::vector<Study>& studies, std::string_view id) {
  std::vector<std::string> known;
  for (const Study& study : studies) {
    if (study.id == id) return study;
    known.push_back(study.id);
  }
  throw UsageError("there is no study '{}'{}; 'tessera study --list' names them all", id,
                   suggestion(id, known));
}

StudyResults run_study(const Study& study, const StudyOptions& options) {
  const std::string command = command_of(study, options);
  StudyResults results(
      {.title = study.title, .paper = study.paper, .figure = study.figure, .command = command});
  StudyContext context(options, results);
  study.run(context);
  if (context.resolved_settings().empty() && !options.overrides.empty()) {
    throw UsageError("the study '{}' has no settings to change, got '{}'", study.id,
                     options.overrides.begin().key());
  }
  results.write(options.folder, resolved_config(study, options, context.resolved_settings()),
                manifest_of(study, options, command));
  return results;
}

}  // namespace tessera
