#include "lab/study/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/random.h"
#include "tessera/base/suggestion.h"
#include "tessera/data/command.h"

namespace tessera {

namespace {

using config::Json;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A line of parts.jsonl. JSON has no numbers that are not finite: NaN is null, the infinite ones
/// are texts.
std::string part_line(const std::string& name, const std::vector<double>& numbers) {
  Json array = Json::array();
  for (const double number : numbers)
    array.push_back(std::isinf(number) ? Json(number > 0 ? "inf" : "-inf") : Json(number));
  return Json{{"part", name}, {"numbers", array}}.dump() + "\n";
}

std::vector<double> numbers_of(const Json& array) {
  std::vector<double> numbers;
  for (const Json& number : array.get_ref<const Json::array_t&>())
    numbers.push_back(number.is_null()   ? std::numeric_limits<double>::quiet_NaN()
                      : number == "inf"  ? kInfinity
                      : number == "-inf" ? -kInfinity
                                         : number.get<double>());
  return numbers;
}

std::string revision_line(const std::string& revision) {
  return Json{{"revision", revision}}.dump() + "\n";
}

}  // namespace

KeptParts::KeptParts(const std::filesystem::path& folder, std::string revision)
    : file_(folder / "parts.jsonl"), revision_(std::move(revision)) {}

void KeptParts::read() {
  is_read_ = true;
  if (!is_there(file_)) return;
  const std::string text = read_file(file_);
  std::istringstream lines(text.substr(0, text.rfind('\n') + 1));
  bool own_revision = false;
  std::string line;
  for (int64_t number = 1; std::getline(lines, line); ++number) {
    try {
      const Json entry = Json::parse(line);
      if (entry.contains("revision"))
        own_revision = entry.at("revision").get<std::string>() == revision_;
      else if (own_revision)
        parts_[entry.at("part").get<std::string>()] = numbers_of(entry.at("numbers"));
    } catch (const Json::exception&) {
      throw DataError(file_.native(),
                      "line {} is not a part of a study; remove the file to begin again", number);
    }
  }
  // What follows a line that was cut off must not be appended to it.
  if (!own_revision || text.size() != text.rfind('\n') + 1) {
    std::string whole = revision_line(revision_);
    for (const auto& [name, numbers] : parts_) whole += part_line(name, numbers);
    write_file(file_, whole);
  }
}

const std::vector<double>* KeptParts::find(const std::string& name, size_t count) {
  if (!is_read_) read();
  const auto place = parts_.find(name);
  if (place == parts_.end()) return nullptr;
  if (place->second.size() != count)
    throw DataError(file_.native(),
                    "the part '{}' has {} numbers, expected {}; remove the file to begin again",
                    name, place->second.size(), count);
  return &place->second;
}

void KeptParts::keep(const std::string& name, std::vector<double> numbers) {
  if (!is_read_) read();
  if (!is_there(file_)) write_file(file_, revision_line(revision_));
  std::ofstream file(file_, std::ios::app);
  file << part_line(name, numbers) << std::flush;
  if (!file) throw SystemError(file_.native(), "write", errno);
  parts_[name] = std::move(numbers);
}

namespace {

/// Every scalar or array of nested settings under its path, which dots join, in their order.
Json flattened(const Json& settings) {
  Json flat = Json::object();
  for (const auto& [path, value] : config::leaves(settings)) flat[path] = value;
  return flat;
}

bool is_bound(const std::string& path, const SettingNames& bound) {
  return path != "runs" && std::any_of(bound.begin(), bound.end(), [&](std::string_view name) {
           return name.empty() || path == name || path.starts_with(std::string(name) + ".");
         });
}

/// Whether the names have this path, or an end of it.
bool is_among(const std::string& path, const SettingNames& names) {
  return std::ranges::any_of(names, [&](std::string_view name) {
    return path == name || path.ends_with("." + std::string(name));
  });
}

/// What the settings mean, in the order of flattened().
void collect_help(const std::vector<config::Field>& fields, std::vector<std::string>& help) {
  for (const config::Field& field : fields) {
    if (const auto* inner = std::get_if<std::vector<config::Field>>(&field.value))
      collect_help(*inner, help);
    else
      help.push_back(config::help_of(field));
  }
}

/// The number of threads, of the study or of one of its trainings: beyond how floats are rounded,
/// no number depends on it.
bool counts_threads(std::string_view path) {
  return path == "threads" || path.ends_with("train.threads");
}

/// The first setting in which `before` and `now` differ, as "alpha = 2, now it is 1.5"; empty where
/// there is none. A study may go on with other threads.
std::string first_difference(const Json& before, const Json& now) {
  const Json old_ones = flattened(before), new_ones = flattened(now);
  for (const auto& [path, value] : new_ones.items()) {
    if (counts_threads(path)) continue;
    const auto old_one = old_ones.find(path);
    if (old_one == old_ones.end()) return fmt::format("no {}, now it is {}", path, value.dump());
    if (*old_one != value)
      return fmt::format("{} = {}, now it is {}", path, old_one->dump(), value.dump());
  }
  for (const auto& [path, value] : old_ones.items())
    if (!counts_threads(path) && !new_ones.contains(path))
      return fmt::format("{} = {}, now it has none", path, value.dump());
  return "";
}

/// Why published and reference numbers do not hold for `chosen`: a sentence that names the settings
/// that are those of none of the `prepared` set-ups, or empty. bound: settings, or tables of them,
/// that such numbers depend on ("" means all), but for "runs".
std::string why_references_fail(const Json& chosen, const std::vector<Json>& prepared,
                                const SettingNames& bound) {
  std::vector<Json> known;
  for (const Json& settings : prepared) known.push_back(flattened(settings));
  std::string reasons;
  for (const auto& [path, value] : config::leaves(chosen)) {
    const auto has_it = [&, &path = path, &value = value](const Json& flat) {
      return flat.contains(path) && flat.at(path) == value;
    };
    if (!is_bound(path, bound) || std::ranges::any_of(known, has_it)) continue;
    const auto published = known.back().find(path);
    reasons += fmt::format("{}{} = {}, here it is {}", reasons.empty() ? "" : "; ", path,
                           published != known.back().end() ? published->dump() : "another value",
                           value.dump());
  }
  return reasons.empty()
             ? ""
             : "Published and reference numbers are left out: they are for " + reasons + ".";
}

double to_two_digits(double value) {
  if (value < 10) return std::ceil(value);
  const double unit = std::pow(10, std::floor(std::log10(value)) - 1);
  return std::round(value / unit) * unit;
}

/// " --set key=value" for every override, as a shell takes it.
std::string set_options(const Json& overrides) {
  std::string text;
  for (const auto& [path, setting] : config::leaves(overrides)) {
    const bool is_plain = !setting.is_string() && !setting.is_array();  // a number, true or false
    const std::string word = path + "=" + setting.dump();
    text += " --set " + (is_plain ? word : shell_quoted(word));
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
  return command + set_options(options.overrides);
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
                                 const SettingNames& bound) {
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
  const auto named = before.find("study");
  const std::string other =
      named != before.end() && named->is_string() ? named->get<std::string>() : "";
  if (other != study_.id)
    throw UsageError("{} is the folder of {}, not of {}; {}", folder,
                     other.empty() ? "something else" : "the study " + other, study_.id, kRemedy);
  const std::string difference =
      first_difference(before, resolved_config(study_, options_, resolved_));
  if (!difference.empty())
    throw UsageError("the study in {} began with {}; {}", folder, difference, kRemedy);
}

/// Throws each setting with what it means, and its values at the three sizes: "channels = 128
/// (quick 32, paper 512)", but for those left out.
void StudyContext::describe(const std::vector<Json>& prepared,
                            const std::vector<config::Field>& fields,
                            const SettingNames& left_out) {
  const Json quick = flattened(prepared[0]), standard = flattened(prepared[1]),
             paper = flattened(prepared[2]);
  std::vector<std::string> help;
  collect_help(fields, help);
  std::string text;
  auto meaning = help.begin();
  for (const auto& [path, value] : standard.items()) {
    const std::string& means = *meaning++;
    if (is_among(path, left_out)) continue;
    const Json &in_quick = quick.at(path), &in_paper = paper.at(path);
    const std::string sizes =
        in_quick == value && in_paper == value
            ? ""
            : fmt::format(" (quick {}, paper {})", in_quick.dump(), in_paper.dump());
    text +=
        fmt::format("  {:<40} {}\n", fmt::format("{} = {}{}", path, value.dump(), sizes), means);
  }
  throw Described{text};
}

void StudyContext::refuse_overrides(const SettingNames& refused) const {
  for (const auto& [path, value] : config::leaves(options_.overrides))
    if (is_among(path, refused))
      throw UsageError(
          "study settings: {} would have no effect, the study sets it itself (seeds by --seed)",
          path);
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

Cell fixed_or_empty(double value, int decimals) {
  return std::isnan(value) ? Cell() : Cell::fixed(value, decimals);
}

const std::filesystem::path& StudyContext::folder() const {
  if (!lock_) {
    check_folder();
    create_folders(options_.folder);
    lock_.emplace(options_.folder / "lock",
                  "another process is at this study; wait until it has ended, or name another "
                  "folder with --out");
    write_file(options_.folder / "config.toml",
               config::to_toml(resolved_config(study_, options_, resolved_)));
  }
  return options_.folder;
}

std::vector<double> StudyContext::part(const std::string& name, size_t count,
                                       const std::function<std::vector<double>()>& compute) {
  folder();
  if (const auto* kept = parts_.find(name, count)) return *kept;
  InterruptGuard::stop_if_interrupted(fmt::format("stopped with {} part{} of {} finished",
                                                  parts_.size(), parts_.size() == 1 ? "" : "s",
                                                  study_.id));
  std::vector<double> numbers = compute();
  if (numbers.size() != count)
    throw std::logic_error(fmt::format("the part '{}' of {} was to have {} numbers, it has {}",
                                       name, study_.id, count, numbers.size()));
  parts_.keep(name, numbers);
  return numbers;
}

const Study& find_study(const std::vector<Study>& studies, std::string_view id) {
  std::vector<std::string> known;
  for (const Study& study : studies) {
    if (study.id == id) return study;
    known.push_back(study.id);
  }
  const auto same_end = std::ranges::find_if(
      known, [end = fmt::format("/{}", id)](const auto& name) { return name.ends_with(end); });
  throw UsageError("there is no study '{}'; 'tessera study --list' names them all{}", id,
                   same_end == known.end() ? suggestion(id, known)
                                           : fmt::format("; did you mean '{}'?", *same_end));
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
