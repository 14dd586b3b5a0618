#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "lab/study/study.h"

namespace tessera::test {

/// Runs a study at its quick size in this folder, with these settings changed.
inline StudyResults run_quick(const std::string& id, const config::Json& settings,
                              const std::filesystem::path& folder, uint64_t seed = 1) {
  StudyOptions options;
  options.size = StudySize::kQuick;
  options.folder = folder;
  options.overrides = settings;
  options.seed = seed;
  return run_study(find_study(all_studies(), id), options);
}

/// The studies whose ids begin so, without that beginning.
inline std::set<std::string> studies_of(const std::string& paper) {
  std::set<std::string> ids;
  for (const Study& study : all_studies())
    if (study.id.starts_with(paper)) ids.insert(study.id.substr(paper.size()));
  return ids;
}

}  // namespace tessera::test
