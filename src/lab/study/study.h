#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/report/study_results.h"

namespace tessera {

/// The numbers of the finished parts of a study, kept in its folder as they come, so that a study
/// that was stopped goes on. The file parts.jsonl has one line a part, {"part": NAME, "numbers":
/// [...]}, below one that names the program's revision: what another revision computed is computed
/// again.
class KeptParts {
 public:
  KeptParts(const std::filesystem::path& folder, std::string revision);

  /// Null where the part is not there. Reads the file when it is first called; a last line that was
  /// cut off counts as not written. Throws DataError on any other damage, also where the part
  /// does not have `count` numbers.
  const std::vector<double>* find(const std::string& name, size_t count);
  /// Writes the part behind the others. Throws SystemError.
  void keep(const std::string& name, std::vector<double> numbers);
  /// How many there are.
  int64_t size() const { return std::ssize(parts_); }

 private:
  void read();

  std::filesystem::path file_;
  std::string revision_;
  bool is_read_ = false;
  std::map<std::string, std::vector<double>> parts_;
};

/// How much of the published set-up a study runs: seconds, minutes, or all of it.
enum class StudySize { kQuick, kDefault, kPaper };

constexpr std::array<std::string_view, 3> enum_names(StudySize) {
  return {"quick", "default", "paper"};
}

/// How a study is run: what the program's options say.
struct StudyOptions {
  StudySize size = StudySize::kDefault;
  uint64_t seed = 1;
  int threads = 1;
  std::filesystem::path folder;                     ///< where its files go
  std::FILE* progress = nullptr;                    ///< where progress is drawn; null: silent
  config::Json overrides = config::Json::object();  ///< settings of the study to change
  config::Json manifest = config::Json::object();   ///< revision, library versions, machine
};

struct Study;

/// Names of settings: their paths ("train.seed") or, where that is said, a part of them.
using SettingNames = std::vector<std::string_view>;

/// See StudyContext::settings.
inline const SettingNames kEverySetting = {""}, kNoSetting = {};

/// Throws UsageError where a setting that is a list, of this name, has something twice.
template <typename List>
void check_distinct(const char* name, const List& list) {
  for (auto value = list.begin(); value != list.end(); ++value)
    if (std::find(list.begin(), value, *value) != value)
      throw UsageError("{} has '{}' twice", name, *value);
}

/// The same, and where it is empty.
template <typename List>
void check_list(const char* name, const List& list) {
  if (list.empty()) throw UsageError("{} is empty, so nothing is measured", name);
  check_distinct(name, list);
}

/// Seconds that `action` takes.
template <typename Action>
double seconds_of(const Action& action) {
  const auto began = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

/// A number with this many decimals; an empty cell where it is NaN.
Cell fixed_or_empty(double value, int decimals);

/// A visitor of fields that leaves these out: settings that a study does not use.
template <typename Visitor>
auto all_but(const SettingNames& unused, Visitor& field) {
  return [&](std::string_view name, auto& member, std::string_view help,
             const config::Demand& demand = {}) {
    if (std::ranges::find(unused, name) == unused.end()) field(name, member, help, demand);
  };
}

/// Settings that a study sets itself, as its struct of settings lists them, by their paths or the
/// ends of them ("seed"). They are part of what it keeps, but are not offered, and an override of
/// one is refused.
template <typename T>
SettingNames set_by_study() {
  if constexpr (requires { T::kSetByStudy; })
    return T::kSetByStudy;
  else
    return {};
}

/// What a running study sees: its options, its settings, its folder, and the results it fills.
class StudyContext {
 public:
  StudyContext(const Study& study, const StudyOptions& options, StudyResults& results);

  StudySize size() const { return options_.size; }
  uint64_t seed() const { return options_.seed; }
  int threads() const { return options_.threads; }
  std::FILE* progress() const { return options_.progress; }
  /// Seed of training `run` (from 0) of several: that of run_seed() without its highest bit,
  /// because config.toml holds numbers up to 2^63 - 1.
  uint64_t training_seed(int64_t run) const;
  StudyResults& results() { return results_; }

  /// The study's settings for the size it runs at, with the overrides applied. Called once, before
  /// any work: an unknown override is a UsageError that suggests the nearest setting. Published and
  /// reference numbers hold for the three set-ups: where a setting is none of theirs they are left
  /// out, and the page says so. bound: settings, or tables of them, that these numbers depend on,
  /// beside how often something is drawn; kNoSetting where there are no such numbers, or
  /// each is compared as it is, with the differences stated.
  template <config::Configuration T>
  T settings(const T& quick, const T& standard, const T& paper,
             const SettingNames& bound = kEverySetting) {
    const std::vector<config::Json> prepared = {config::to_json(quick), config::to_json(standard),
                                                config::to_json(paper)};
    if (describes_) describe(prepared, config::fields_of(standard), set_by_study<T>());
    refuse_overrides(set_by_study<T>());
    const T* all[] = {&quick, &standard, &paper};
    T chosen = *all[static_cast<int>(options_.size)];
    config::from_json(options_.overrides, chosen, "study settings");
    take_settings(config::to_json(chosen), prepared, bound);
    return chosen;
  }
  /// The same where the default is the paper's set-up.
  template <config::Configuration T>
  T settings(const T& quick, const T& paper, const SettingNames& bound = kEverySetting) {
    return settings(quick, paper, paper, bound);
  }
  /// The same of a function that gives them for each size.
  template <config::Configuration T>
  T settings(T (*of)(StudySize), const SettingNames& bound = kEverySetting) {
    return settings(of(StudySize::kQuick), of(StudySize::kDefault), of(StudySize::kPaper), bound);
  }
  const config::Json& resolved_settings() const { return resolved_; }
  /// Whether numbers that were published or computed for reference hold for these settings.
  bool references_hold() const { return references_hold_; }
  /// The number, or NaN where it does not hold.
  double reference(double number) const {
    return references_hold_ ? number : std::numeric_limits<double>::quiet_NaN();
  }

  /// Where the study's files go. From the first call on the folder is this study's: config.toml
  /// says with which settings, and no other process may run it. Throws UsageError, naming what
  /// differs, where it is that of another study or of other settings; std::runtime_error where
  /// another process is at it.
  const std::filesystem::path& folder() const;

  /// The numbers of one part of the study: those that an earlier run of it kept in its folder, else
  /// those that `compute` gives, which are kept there. count: how many they are. Throws Interrupted
  /// before the work of a part where a signal has arrived.
  std::vector<double> part(const std::string& name, size_t count,
                           const std::function<std::vector<double>()>& compute);
  /// The same of a part that is one number.
  double number(const std::string& name, const std::function<double()>& compute) {
    return part(name, 1, [&] { return std::vector<double>{compute()}; }).front();
  }

 private:
  void take_settings(const config::Json& chosen, const std::vector<config::Json>& prepared,
                     const SettingNames& bound);
  void check_folder() const;
  [[noreturn]] static void describe(const std::vector<config::Json>& prepared,
                                    const std::vector<config::Field>& fields,
                                    const SettingNames& left_out);
  void refuse_overrides(const SettingNames& refused) const;
  friend std::string describe_settings(const Study& study);

  const Study& study_;
  const StudyOptions& options_;
  StudyResults& results_;
  config::Json resolved_ = config::Json::object();
  KeptParts parts_;
  bool references_hold_ = true;
  bool describes_ = false;                // settings() throws what they are
  mutable std::optional<FileLock> lock_;  // held from the first folder() on
};

/// How long something takes on two cores.
struct StudyTime {
  double seconds = 0;
  bool estimated = false;  ///< from its number of updates or runs beside a measured one
};
constexpr StudyTime took(double seconds) {
  return {seconds, false};
}
constexpr StudyTime about(double seconds) {
  return {seconds, true};
}
/// "20 s", "about 40 min": to two digits, with "about" where it was estimated.
std::string text_of(StudyTime time);

/// How long a study takes with --quick, and by default.
struct StudyCost {
  StudyTime quick = {}, standard = {};
};

/// One figure or table of a paper.
struct Study {
  std::string id;      ///< "scaling-laws/fig1"
  std::string title;   ///< what it shows
  std::string paper;   ///< "Cabannes, Dohmatob, Bietti 2024"
  std::string figure;  ///< "figure 1"
  StudyCost cost;
  std::function<void(StudyContext&)> run;
};

/// Every study, in the order of the papers.
const std::vector<Study>& all_studies();

/// The study with this id. Throws UsageError that suggests the nearest one.
const Study& find_study(const std::vector<Study>& studies, std::string_view id);

/// Its settings, a line each: name = value, those of --quick and --paper where they are others, and
/// what it means. For --help.
std::string describe_settings(const Study& study);

/// Runs a study and writes its directory: results, pictures, tables, page, and config.toml (size,
/// seed, threads, settings) and manifest.json (options.manifest with the study, its command and
/// seed). A study that is stopped or fails leaves its finished parts and trainings; run again with
/// equal size, seed and settings it goes on from there.
/// Throws UsageError on overrides for a study without settings, before any work where it reads
/// them, and where the folder is that of another study or of other settings; Interrupted after a
/// signal.
StudyResults run_study(const Study& study, const StudyOptions& options);

}  // namespace tessera
