#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "lab/study/scaling_laws/studies.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tests/lab/study/quick_study.h"
#include "tests/support/figure_captions.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using config::Json;

StudyResults run_law(const std::string& id, const Json& settings,
                     const std::filesystem::path& folder, uint64_t seed = 1) {
  return test::run_quick("scaling-laws/" + id, settings, folder, seed);
}

/// What a study says to these settings.
std::string refusal(const std::string& id, const Json& settings) {
  const test::TemporaryFolder folder;
  return test::message_of<UsageError>([&] { run_law(id, settings, folder.path()); });
}

/// Every picture says which equation or statement it shows.
void expect_captions(const std::filesystem::path& folder) {
  const auto captions = test::figure_captions(read_file(folder / "report.html"));
  EXPECT_FALSE(captions.empty());
  for (const std::string& caption : captions)
    EXPECT_TRUE(test::names_its_source(caption)) << "'" << caption << "'";
}

TEST(ScalingLawStudies, OnePerFigureAndTheTable) {
  const auto ids = test::studies_of("scaling-laws/");
  for (int figure = 1; figure <= 16; ++figure)
    EXPECT_TRUE(ids.contains(fmt::format("fig{}", figure))) << figure;
  EXPECT_TRUE(ids.contains("table1"));
}

// The others take minutes, or differ from these only in their settings.
class QuickStudy : public ::testing::TestWithParam<const char*> {};

TEST_P(QuickStudy, RunsAndWritesItsDirectory) {
  const std::string id = GetParam();
  // These evaluate formulas, or show a single run.
  static const std::set<std::string> kWithoutRuns = {"fig2",  "fig5",  "fig6",  "fig11",
                                                     "fig14", "fig16", "table1"};
  const test::TemporaryFolder folder;
  const StudyResults results =
      run_law(id, kWithoutRuns.contains(id) ? Json::object() : Json{{"runs", 2}}, folder.path());
  EXPECT_FALSE(results.points().empty());
  for (const ResultPoint& point : results.points())  // a band comes with its standard error
    EXPECT_EQ(std::isnan(point.spread), std::isnan(point.standard_error)) << point.series;
  EXPECT_TRUE(std::filesystem::exists(folder / "results.csv"));
  expect_captions(folder.path());
}

INSTANTIATE_TEST_SUITE_P(ScalingLaws, QuickStudy,
                         ::testing::Values("fig1", "fig2", "fig3", "fig4", "fig5", "fig6", "fig7",
                                           "fig8", "fig9", "fig10", "fig11", "fig12", "fig13",
                                           "fig14", "fig15", "fig16", "table1", "theorem1",
                                           "proposition4", "lemma1", "equation3", "equation23",
                                           "equation26", "compensation", "adaptive-step", "planner",
                                           "decoders"));

// In the last column of their tables.
TEST(ScalingLawStudies, OneRunHasNoStandardError) {
  for (const char* id : {"lemma1", "equation26", "compensation"}) {
    const test::TemporaryFolder folder;
    run_law(id, {{"runs", 1}}, folder.path());
    std::istringstream lines(read_file(folder / "numbers.csv"));
    std::string line;
    std::getline(lines, line);
    EXPECT_TRUE(line.ends_with(",standard error")) << id << ": " << line;
    while (std::getline(lines, line)) EXPECT_TRUE(line.ends_with(",")) << id << ": " << line;
  }
}

// p / s has the error p e / s^2 where s has the error e.
TEST(ScalingLawStudies, ARatioHasTheErrorOfWhatItIsDividedBy) {
  const test::TemporaryFolder folder;
  const StudyResults results =
      run_law("error-per-item", {{"runs", 20}, {"most_runs", 20}}, folder.path());
  std::istringstream lines(read_file(folder / "items.csv"));
  std::string line;
  std::getline(lines, line);
  size_t point = 0;
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    std::vector<double> row;  // M, d, P, predicted, simulated, standard error, …
    for (std::string cell; std::getline(cells, cell, ',') && row.size() < 6;)
      row.push_back(std::stod(cell));
    const double predicted = row.at(3), simulated = row.at(4), error = row.at(5);
    if (simulated == 0) continue;
    const ResultPoint& ratio = results.points().at(point++);
    EXPECT_DOUBLE_EQ(ratio.y, predicted / simulated);
    EXPECT_NEAR(ratio.spread, predicted * error / (simulated * simulated), 1e-9 * ratio.y);
  }
  EXPECT_EQ(point, results.points().size());
  EXPECT_GT(point, 5u);
}

TEST(ScalingLawStudies, WhatIsChosenIsMeasuredInOtherRuns) {
  const test::TemporaryFolder folder;
  StudyOptions options;
  options.folder = folder.path();
  StudyResults results(StudyHeading{});
  StudyContext context(find_study(all_studies(), "scaling-laws/equation3"), options, results);
  std::mutex guard;
  const auto seeds_of = [&](std::set<uint64_t>& seeds) {
    return [&](uint64_t seed) {
      const std::lock_guard<std::mutex> lock(guard);
      seeds.insert(seed);
      return std::vector<double>{1, 2};
    };
  };
  std::set<uint64_t> chosen, reported;
  const auto trials = scaling_laws::trial_means(context, "some", 3, seeds_of(chosen));
  scaling_laws::measured(context, "some", 3, seeds_of(reported));
  EXPECT_THAT(trials, testing::ElementsAre(testing::DoubleEq(1), testing::DoubleEq(2)));
  EXPECT_EQ(chosen.size(), 3u);
  EXPECT_EQ(reported.size(), 3u);
  chosen.insert(reported.begin(), reported.end());
  EXPECT_EQ(chosen.size(), 6u);
  EXPECT_EQ(scaling_laws::place_of_least(std::vector<double>{3, 1, 2}), 1u);
}

TEST(ScalingLawStudies, TheBestIsChosenBeforeItIsMeasured) {
  const std::map<std::string, Json> studies = {
      {"proposition5", {{"runs", 2}, {"inputs", 64}, {"outputs", 16}}},
      {"equation3", {{"runs", 2}, {"inputs", 40}, {"outputs", 4}}}};
  for (const auto& [id, settings] : studies) {
    const test::TemporaryFolder folder;
    run_law(id, settings, folder.path());
    EXPECT_THAT(read_file(folder / "parts.jsonl"), testing::HasSubstr(", to choose by\"")) << id;
  }
}

// The exponents hold for every alpha and rho, so they are compared at any setting.
TEST(ScalingLawStudies, ExponentsAreThoseOfProposition2) {
  const test::TemporaryFolder folder;
  const StudyResults results = run_law("proposition2",
                                       {{"runs", 1},
                                        {"alphas", {2}},
                                        {"rhos", {0.5}},
                                        {"inputs", 100000},
                                        {"simulated_inputs", 1000}},
                                       folder.path());
  ASSERT_EQ(results.comparisons().size(), 1u);
  const Comparison& comparison = results.comparisons().front();
  EXPECT_NEAR(comparison.ours, comparison.published, 0.02) << comparison.what;
  expect_captions(folder.path());
}

TEST(ScalingLawStudies, Theorem2KeepsEachDimensionAsItGoes) {
  const test::TemporaryFolder folder;
  run_law("theorem2", {{"rhos", {0.5}}, {"inputs", 10000}}, folder.path());
  const std::string parts = read_file(folder / "parts.jsonl");
  for (const char* d : {"10", "32", "100", "316", "1000", "3162", "10000"})
    EXPECT_THAT(parts, testing::HasSubstr(fmt::format("\"α = 2, d = {}\"", d)));
}

TEST(ScalingLawStudies, PanelsStandInOnePictureAsInThePaper) {
  const std::map<std::string, std::vector<std::string>> panels = {
      {"fig1", {"Error against dimension", "Error against data"}},
      {"fig4", {"d = 100, γ = 10", "d = 100, γ = 1", "d = 10, γ = 1"}},
      {"fig7", {"One run, N = 10", "Mean of 2 runs, N = 10", "Mean of 2 runs, N = 30"}},
      {"fig13", {"d = 10, γ = 1", "d = 100, γ = 1"}}};
  for (const auto& [id, titles] : panels) {
    const test::TemporaryFolder folder;
    run_law(id, {{"runs", 2}}, folder.path());
    const std::string picture = read_file(folder / "errors.svg");
    for (const std::string& title : titles)
      EXPECT_THAT(picture, testing::HasSubstr(">" + title + "</text>")) << id;
  }
}

TEST(ScalingLawStudies, RefuseLawsWithoutExponents) {
  EXPECT_THAT(refusal("theorem2", {{"alphas", {1}}}), testing::HasSubstr("alphas has 1;"));
  EXPECT_THAT(refusal("proposition3", {{"alphas", {2}}, {"rhos", {-1}}}),
              testing::HasSubstr("rhos[0] is -1"));
}

TEST(ScalingLawStudies, HaveTheSettingsThatTheyUse) {
  const std::map<std::string, std::vector<std::string>> all = {
      {"fig1", {"runs", "inputs", "outputs", "alpha"}},
      {"fig6", {"inputs", "outputs", "alpha"}},
      {"fig9", {"runs", "inputs", "alpha"}},
      {"adaptive-step", {"runs", "outputs", "alpha"}},
      {"planner", {"runs", "inputs"}},
      {"theorem2", {"inputs", "outputs", "alphas", "rhos"}}};
  for (const auto& [id, names] : all) {
    std::istringstream lines(describe_settings(find_study(all_studies(), "scaling-laws/" + id)));
    std::vector<std::string> listed;
    for (std::string line; std::getline(lines, line);)
      listed.push_back(line.substr(2, line.find(" = ") - 2));
    EXPECT_EQ(listed, names) << id;
  }
  EXPECT_THAT(refusal("planner", {{"alpha", 2}}),
              testing::HasSubstr("unknown key 'alpha'; there are runs, inputs"));
  EXPECT_THAT(refusal("adaptive-step", {{"inputs", 30}}),
              testing::HasSubstr("unknown key 'inputs'"));
}

TEST(ScalingLawStudies, SameSeedSameNumbers) {
  const auto points = [](uint64_t seed) {
    const test::TemporaryFolder folder;
    std::vector<double> values;
    const StudyResults results = run_law("fig13", {{"runs", 2}}, folder.path(), seed);
    for (const ResultPoint& point : results.points()) values.push_back(point.y);
    return values;
  };
  EXPECT_EQ(points(1), points(1));
  EXPECT_NE(points(1), points(2));
}

TEST(ScalingLawStudies, SchedulesAreRunOnceWhereTheCaptionHasTheSameInputs) {
  const test::TemporaryFolder folder;
  const StudyResults results = run_law("fig7", {{"runs", 2}, {"inputs", 30}}, folder.path());
  std::map<std::string, std::set<double>> times;
  for (const ResultPoint& point : results.points())
    EXPECT_TRUE(times[point.series].insert(point.x).second) << point.series << " at " << point.x;
  EXPECT_EQ(times.size(), 8u);
}

TEST(ScalingLawStudies, SayTheSizesThatWereRun) {
  const test::TemporaryFolder folder;
  const Json decoders = {{"runs", 1}, {"inputs", 512}, {"outputs", 50}};
  EXPECT_THAT(run_law("decoders", decoders, folder / "decoders").summary(),
              testing::HasSubstr("V = 50 outputs, d = 512"));
  run_law("fig6", {{"inputs", 12}}, folder / "fig6");
  EXPECT_THAT(read_file(folder / "fig6" / "report.html"),
              testing::HasSubstr("each of 1000 samples; N = 12, M = 5, d = 5, α = 1.5."));
}

TEST(ScalingLawStudies, SayOfHowManyRunsTheyAre) {
  const test::TemporaryFolder folder;
  const StudyResults results = run_law("fig4", {{"runs", 2}}, folder.path());
  EXPECT_THAT(results.summary(), testing::HasSubstr("all curves here are means of 2 runs"));
  EXPECT_THAT(run_law("fig8", {{"runs", 2}}, folder / "fig8").summary(),
              testing::AllOf(testing::HasSubstr("SGD γ = 1, d = 10 (ours ± "),
                             testing::HasSubstr("± is the standard error of ours")));
}

TEST(ScalingLawStudies, ErrorsOfZeroHaveNoExponent) {
  const test::TemporaryFolder folder;
  run_law(
      "proposition2",
      {{"runs", 1}, {"alphas", {2}}, {"rhos", {0.5}}, {"inputs", 100000}, {"simulated_inputs", 10}},
      folder.path());
  // α, ρ, (13), expected error, simulated, N of the simulation
  EXPECT_THAT(read_file(folder / "numbers.csv"), testing::HasSubstr(",,10\n"));
}

TEST(ScalingLawStudies, RefuseSettingsThatMakeNoModel) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(run_law("fig1", {{"runs", 0}}, folder.path()), UsageError);
  // More outputs than the law counts, and too few vectors to draw a pair of at the widest angle.
  EXPECT_THROW(run_law("fig1", {{"outputs", (int64_t{1} << 32) + 1}}, folder.path()), UsageError);
  EXPECT_THROW(run_law("lemma1", {{"most", 4}}, folder.path()), UsageError);
  EXPECT_THAT(refusal("equation3", {{"inputs", 5}}),
              testing::HasSubstr("inputs is 5, expected 10 or more"));
}

}  // namespace
}  // namespace tessera
