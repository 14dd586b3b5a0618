#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "lab/study/study.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tests/support/temporary_folder.h"

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

/// The x of the points of each series, in their order.
inline std::map<std::string, std::vector<double>> places_of(const StudyResults& results) {
  std::map<std::string, std::vector<double>> places;
  for (const ResultPoint& point : results.points()) places[point.series].push_back(point.x);
  return places;
}

/// One study in a folder of its own. tiny: settings with which it takes no time.
class OneStudy : public testing::Test {
 protected:
  OneStudy(std::string id, config::Json tiny) : id_(std::move(id)), tiny_(std::move(tiny)) {}

  const config::Json& tiny() const { return tiny_; }
  StudyResults run(const config::Json& settings) const {
    return run_quick(id_, settings, folder_.path());
  }
  /// What it says to the tiny settings with this change before any work.
  std::string refusal(const config::Json& change) const {
    config::Json settings = tiny_;
    settings.merge_patch(change);
    const std::string message = message_of<UsageError>([&] { run(settings); });
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
    return message;
  }

  TemporaryFolder folder_;

 private:
  std::string id_;
  config::Json tiny_;
};

/// The captions of the pictures of a report.html, in order; "" for a picture without one.
inline std::vector<std::string> figure_captions(const std::string& page) {
  const std::string picture = "<figure>\n<div class=\"wide\">", open = "<figcaption>";
  std::vector<std::string> captions;
  for (size_t at = page.find(picture); at != std::string::npos; at = page.find(picture, at + 1)) {
    const size_t end = page.find("</figure>", at), caption = page.find(open, at);
    captions.emplace_back();
    if (caption > end) continue;
    const size_t first = caption + open.size();
    captions.back() = page.substr(first, page.find("</figcaption>", first) - first);
  }
  return captions;
}

/// Whether a caption names what the paper says there: an equation, a statement or a section.
inline bool names_its_source(const std::string& caption) {
  static const std::regex source(
      "eqs?\\. [0-9]|\\([0-9]+\\)|Theorem [0-9]|Proposition [0-9]|Lemma [0-9]|[Ss]ection "
      "[0-9A]|[Aa]ppendix [A-Z]");
  return std::regex_search(caption, source);
}

/// The studies of one paper, each in a folder of its own.
class PaperStudies : public testing::Test {
 protected:
  explicit PaperStudies(std::string paper) : paper_(std::move(paper)) {}

  /// Runs a study with these settings changed.
  StudyResults run(const std::string& id, const config::Json& settings) const {
    return run_quick(paper_ + "/" + id, settings, folder_ / id);
  }

  /// What a study wrote into this file.
  std::string written(const std::string& id, const std::string& file) const {
    return read_file(folder_ / id / file);
  }

  /// Holds that every picture of a study's page says which equation, statement or section it shows.
  void expect_captions(const std::string& id) const {
    const auto captions = figure_captions(written(id, "report.html"));
    EXPECT_FALSE(captions.empty()) << id;
    for (const std::string& caption : captions)
      EXPECT_TRUE(names_its_source(caption)) << id << ": '" << caption << "'";
  }
  /// What a study says to these settings before any work.
  std::string refusal(const std::string& id, const config::Json& settings) const {
    const auto folder = folder_ / ("refused-" + id);
    const std::string message =
        message_of<UsageError>([&] { run_quick(paper_ + "/" + id, settings, folder); });
    EXPECT_FALSE(std::filesystem::exists(folder)) << id;
    return message;
  }

  TemporaryFolder folder_;

 private:
  std::string paper_;
};

}  // namespace tessera::test
