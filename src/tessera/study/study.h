#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/report/study_results.h"

namespace tessera {

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

/// What a running study sees: its options, its settings, and the results it fills.
class StudyContext {
 public:
  StudyContext(const StudyOptions& options, StudyResults& results)
      : options_(options), results_(results) {}

  StudySize size() const { return options_.size; }
  uint64_t seed() const { return options_.seed; }
  int threads() const { return options_.threads; }
  std::FILE* progress() const { return options_.progress; }
  const std::filesystem::path& folder() const { return options_.folder; }
  StudyResults& results() { return results_; }

  /// The study's settings for the size it runs at, with the overrides applied. Called once, before
  /// any work: an unknown override is a UsageError that suggests the nearest setting.
  template <config::Configuration T>
  T settings(const T& quick, const T& standard, const T& paper) {
    const T* all[] = {&quick, &standard, &paper};
    T chosen = *all[static_cast<int>(options_.size)];
    config::from_json(options_.overrides, chosen, "study settings");
    resolved_ = config::to_json(chosen);
    return chosen;
  }
  const config::Json& resolved_settings() const { return resolved_; }

 private:
  const StudyOptions& options_;
  StudyResults& results_;
  config::Json resolved_ = config::Json::object();
};

/// One figure or table of a paper.
struct Study {
  std::string id;      ///< "scaling-laws/fig1"
  std::string title;   ///< what it shows
  std::string paper;   ///< "Cabannes, Dohmatob, Bietti 2024"
  std::string figure;  ///< "figure 1"
  std::function<void(StudyContext&)> run;
};

/// Every study, in the order of the papers.
const std::vector<Study>& all_studies();

/// The study with this id. Throws UsageError that suggests the nearest one.
const Study& find_study(const std::vector<Study>& studies, std::string_view id);

/// Runs a study and writes its directory: results, pictures, tables, page, and config.toml (size,
/// seed, threads, settings) and manifest.json (options.manifest with the study, its command and
/// seed). Where the run throws, nothing is written.
/// Throws UsageError on overrides for a study without settings, before any work where it reads
/// them.
StudyResults run_study(const Study& study, const StudyOptions& options);

}  // namespace tessera
