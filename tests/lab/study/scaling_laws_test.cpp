#include "lab/study/scaling_laws/studies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tests/support/figure_captions.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

StudyOptions quick_options(const std::string& id, int64_t runs) {
  static const test::TemporaryFolder above;
  StudyOptions options;
  options.size = StudySize::kQuick;
  options.folder = above / id;
  options.overrides["runs"] = runs;
  return options;
}

/// Every picture says which equation or statement it shows.
void expect_captions(const std::filesystem::path& folder) {
  const auto captions = test::figure_captions(read_file(folder / "report.html"));
  EXPECT_FALSE(captions.empty());
  for (const std::string& caption : captions)
    EXPECT_TRUE(test::names_its_source(caption)) << "'" << caption << "'";
}

TEST(ScalingLawStudies, OnePerFigureAndTheTable) {
  std::set<std::string> ids;
  for (const Study& study : scaling_law_studies()) ids.insert(study.id);
  for (int figure = 1; figure <= 16; ++figure)
    EXPECT_TRUE(ids.contains(fmt::format("scaling-laws/fig{}", figure))) << figure;
  EXPECT_TRUE(ids.contains("scaling-laws/table1"));
}

// The others take minutes, or differ from these only in their settings.
class QuickStudy : public ::testing::TestWithParam<const char*> {};

TEST_P(QuickStudy, RunsAndWritesItsDirectory) {
  const auto studies = scaling_law_studies();
  const Study& study = find_study(studies, std::string("scaling-laws/") + GetParam());
  const StudyOptions options = quick_options(GetParam(), 2);
  // Figure 2 is a drawing: it has no settings.
  StudyOptions plain = options;
  if (std::string(GetParam()) == "fig2" || std::string(GetParam()) == "fig5")
    plain.overrides = config::Json::object();
  const StudyResults results = run_study(study, plain);
  EXPECT_FALSE(results.points().empty());
  for (const ResultPoint& point : results.points())  // a band comes with its standard error
    EXPECT_EQ(std::isnan(point.spread), std::isnan(point.standard_error)) << point.series;
  EXPECT_TRUE(std::filesystem::exists(options.folder / "results.csv"));
  expect_captions(options.folder);
  std::filesystem::remove_all(options.folder);
}

INSTANTIATE_TEST_SUITE_P(ScalingLaws, QuickStudy,
                         ::testing::Values("fig1", "fig2", "fig3", "fig4", "fig5", "fig6", "fig7",
                                           "fig8", "fig9", "fig10", "fig11", "fig12", "fig13",
                                           "fig14", "fig15", "fig16", "table1", "theorem1",
                                           "proposition4", "lemma1", "equation3", "equation23",
                                           "equation26", "compensation", "adaptive-step", "planner",
                                           "decoders"));

/// Exponents of the expected error found by a study, small: alpha 2, N = 10^5.
std::vector<double> compared_exponents(const std::string& id, std::vector<double> rhos) {
  StudyOptions options = quick_options(id, 1);
  options.overrides["alphas"] = {2};
  options.overrides["rhos"] = rhos;
  options.overrides["inputs"] = 100000;
  options.overrides["simulated_inputs"] = 1000;
  const auto studies = scaling_law_studies();
  const StudyResults results = run_study(find_study(studies, "scaling-laws/" + id), options);
  std::vector<double> ours;
  for (const Comparison& comparison : results.comparisons()) {
    EXPECT_NEAR(comparison.ours, comparison.published, 0.02) << comparison.what;
    ours.push_back(comparison.ours);
  }
  expect_captions(options.folder);
  std::filesystem::remove_all(options.folder);
  return ours;
}

TEST(ScalingLawStudies, ExponentsAreThoseOfProposition2) {
  // The exponents hold for every alpha and rho, so they are compared at any setting.
  EXPECT_EQ(compared_exponents("proposition2", {0.5}).size(), 1u);
}

TEST(ScalingLawStudies, Theorem2KeepsEachDimensionAsItGoes) {
  StudyOptions options = quick_options("theorem2", 1);
  options.overrides["rhos"] = {0.5};
  options.overrides["inputs"] = 10000;
  const auto studies = scaling_law_studies();
  run_study(find_study(studies, "scaling-laws/theorem2"), options);
  const std::string parts = read_file(options.folder / "parts.jsonl");
  for (const char* d : {"10", "32", "100", "316", "1000", "3162", "10000"})
    EXPECT_THAT(parts, testing::HasSubstr(fmt::format("\"α = 2, d = {}\"", d)));
  std::filesystem::remove_all(options.folder);
}

TEST(ScalingLawStudies, PanelsStandInOnePictureAsInThePaper) {
  const auto studies = scaling_law_studies();
  const std::map<std::string, std::vector<std::string>> panels = {
      {"fig1", {"Error against dimension", "Error against data"}},
      {"fig4", {"d = 100, γ = 10", "d = 100, γ = 1", "d = 10, γ = 1"}},
      {"fig7", {"One run, N = 10", "Mean of 2 runs, N = 10", "Mean of 2 runs, N = 30"}},
      {"fig13", {"d = 10, γ = 1", "d = 100, γ = 1"}}};
  for (const auto& [id, titles] : panels) {
    const StudyOptions options = quick_options(id, 2);
    run_study(find_study(studies, "scaling-laws/" + id), options);
    const std::string picture = read_file(options.folder / "errors.svg");
    for (const std::string& title : titles)
      EXPECT_THAT(picture, testing::HasSubstr(">" + title + "</text>")) << id;
    std::filesystem::remove_all(options.folder);
  }
}

TEST(ScalingLawStudies, RefuseLawsWithoutExponents) {
  const auto studies = scaling_law_studies();
  StudyOptions options = quick_options("refused", 1);
  options.overrides["alphas"] = {1};
  EXPECT_THROW(run_study(find_study(studies, "scaling-laws/theorem2"), options), UsageError);
  options.overrides["alphas"] = {2};
  options.overrides["rhos"] = {-1};
  EXPECT_THROW(run_study(find_study(studies, "scaling-laws/proposition3"), options), UsageError);
}

TEST(ScalingLawStudies, SameSeedSameNumbers) {
  const auto studies = scaling_law_studies();
  const Study& study = find_study(studies, "scaling-laws/fig13");
  const auto points = [&](uint64_t seed) {
    StudyOptions options = quick_options("again", 2);
    options.seed = seed;
    std::vector<double> values;
    const StudyResults results = run_study(study, options);
    for (const ResultPoint& point : results.points()) values.push_back(point.y);
    std::filesystem::remove_all(options.folder);
    return values;
  };
  EXPECT_EQ(points(1), points(1));
  EXPECT_NE(points(1), points(2));
}

TEST(ScalingLawStudies, RefuseSettingsThatMakeNoModel) {
  const auto studies = scaling_law_studies();
  const Study& study = find_study(studies, "scaling-laws/fig1");
  EXPECT_THROW(run_study(study, quick_options("refused", 0)), UsageError);
}

}  // namespace
}  // namespace tessera
