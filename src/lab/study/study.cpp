#include "lab/study/study.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/study/benchmarks/studies.h"
#include "lab/study/memo/studies.h"
#include "lab/study/memory_mosaics/studies.h"
#include "lab/study/scaling_laws/studies.h"
#include "lab/study/stm/studies.h"
#include "lab/study/study_settings.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/random.h"
#include "tessera/base/suggestion.h"

namespace tessera {
namespace {

double to_two_digits(double value) {
  if (value < 10) return std::ceil(value);
  const double unit = std::pow(10, std::floor(std::log10(value)) - 1);
  return std::round(value / unit) * unit;
}

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

/// What settings() throws where they are only asked for.
struct Described {
  std::string text;
};

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

StudyContext::StudyContext(const Study& study, const StudyOptions& options, StudyResults& results)
    : study_(study),
      options_(options),
      results_(results),
      parts_(options.folder, options.manifest.value("revision", "")) {}

uint64_t StudyContext::training_seed(int64_t run) const {
  return run_seed(seed(), run) & std::numeric_limits<int64_t>::max();
}

void StudyContext::take_settings(const Json& chosen, const std::vector<Json>& prepared,
                                 const std::vector<std::string_view>& bound) {
  resolved_ = chosen;
  check_folder();
  const std::string reason = why_references_fail(chosen, prepared, bound);
  if (reason.empty()) return;
  references_hold_ = false;
  results_.leave_out_published(reason);
}

void StudyContext::check_folder() const {
  const auto file = options_.folder / "config.toml";
  if (!is_there(file)) return;
  const Json before = config::read_toml(file);
  const std::string folder = options_.folder.native();
  constexpr const char* kRemedy = "name another folder with --out, or remove this one";
  const std::string other = before.value("study", "");
  if (other != study_.id)
    throw UsageError("{} is the folder of {}, not of {}; {}", folder,
                     other.empty() ? "something else" : "the study " + other, study_.id, kRemedy);
  const auto comparable = [](Json config) {
    config.erase("threads");  // no number depends on it
    return config;
  };
  const std::string difference = first_difference(
      comparable(before), comparable(resolved_config(study_, options_, resolved_)));
  if (!difference.empty())
    throw UsageError("the study in {} began with {}; {}", folder, difference, kRemedy);
}

void StudyContext::describe(const std::vector<config::Field>& quick,
                            const std::vector<config::Field>& standard,
                            const std::vector<config::Field>& paper) {
  throw Described{::tessera::describe_settings(quick, standard, paper)};
}

std::string describe_settings(const Study& study) {
  const StudyOptions options;
  StudyResults results(StudyHeading{});
  StudyContext context(study, options, results);
  context.describes_ = true;
  try {
    study.run(context);
  } catch (const Described& settings) {
    return settings.text;
  }
  return "";
}

const std::filesystem::path& StudyContext::folder() const {
  if (!folder_is_ours_) {
    check_folder();
    write_file(options_.folder / "config.toml",
               config::to_toml(resolved_config(study_, options_, resolved_)));
    folder_is_ours_ = true;
  }
  return options_.folder;
}

std::vector<double> StudyContext::part(const std::string& name,
                                       const std::function<std::vector<double>()>& compute) {
  folder();
  if (const auto* kept = parts_.find(name)) return *kept;
  InterruptGuard::stop_if_interrupted(fmt::format("stopped with {} part{} of {} finished",
                                                  parts_.size(), parts_.size() == 1 ? "" : "s",
                                                  study_.id));
  std::vector<double> numbers = compute();
  parts_.keep(name, numbers);
  return numbers;
}

const std::vector<Study>& all_studies() {
  static const std::vector<Study> studies = [] {
    std::vector<Study> all = memory_mosaics_studies();
    for (Study& study : memo_studies()) all.push_back(std::move(study));
    for (Study& study : stm_studies()) all.push_back(std::move(study));
    for (Study& study : scaling_law_studies()) all.push_back(std::move(study));
    for (Study& study : benchmark_studies()) all.push_back(std::move(study));
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
  StudyContext context(study, options, results);
  const InterruptGuard guard;
  try {
    study.run(context);
  } catch (const Interrupted& stopped) {
    throw Interrupted(
        fmt::format("{}. {} keeps what is finished; the same command goes on from there",
                    stopped.what(), options.folder.native()));
  }
  if (context.resolved_settings().empty() && !options.overrides.empty()) {
    throw UsageError("the study '{}' has no settings to change, got '{}'", study.id,
                     options.overrides.begin().key());
  }
  context.folder();
  results.write(options.folder, resolved_config(study, options, context.resolved_settings()),
                manifest_of(study, options, command));
  return results;
}

std::string text_of(StudyTime time) {
  const bool minutes = time.seconds >= 100, hours = time.seconds >= 6000;
  const double value = to_two_digits(time.seconds / (hours ? 3600 : minutes ? 60 : 1));
  return fmt::format("{}{:g} {}", time.estimated ? "about " : "", value,
                     hours     ? "h"
                     : minutes ? "min"
                               : "s");
}

}  // namespace tessera
