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
#include "tests/lab/study/quick_study.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using config::Json;
using testing::HasSubstr;

class ScalingLawStudies : public test::PaperStudies {
 protected:
  ScalingLawStudies() : PaperStudies("scaling-laws") {}
};

// The others take minutes, or differ from these only in their settings.
class QuickStudy : public ScalingLawStudies, public ::testing::WithParamInterface<const char*> {};

/// Titles of the panels that stand in one picture, as in the paper.
const std::map<std::string, std::vector<std::string>> kPanels = {
    {"fig1", {"Error against dimension", "Error against data"}},
    {"fig4", {"d = 100, γ = 10", "d = 100, γ = 1", "d = 10, γ = 1"}},
    {"fig7", {"One run, N = 10", "Mean of 2 runs, N = 10", "Mean of 2 runs, N = 30"}},
    {"fig13", {"d = 10, γ = 1", "d = 100, γ = 1"}}};
/// What a summary says of the number of runs.
const std::map<std::string, std::vector<std::string>> kOfRuns = {
    {"fig4", {"all curves here are means of 2 runs"}},
    {"fig8", {"SGD γ = 1, d = 10 (ours ± ", "± is the standard error of ours"}}};

TEST_P(QuickStudy, RunsAndWritesItsDirectory) {
  const std::string id = GetParam();
  // These evaluate formulas, or show a single run.
  static const std::set<std::string> kWithoutRuns = {"fig2",  "fig5",  "fig6",  "fig11",
                                                     "fig14", "fig16", "table1"};
  const StudyResults results =
      run(id, kWithoutRuns.contains(id) ? Json::object() : Json{{"runs", 2}});
  EXPECT_FALSE(results.points().empty());
  for (const ResultPoint& point : results.points())  // a band comes with its standard error
    EXPECT_EQ(std::isnan(point.spread), std::isnan(point.standard_error)) << point.series;
  EXPECT_TRUE(std::filesystem::exists(folder_ / id / "results.csv"));
  expect_captions(id);
  if (kPanels.contains(id)) {
    for (const std::string& title : kPanels.at(id))
      EXPECT_THAT(written(id, "errors.svg"), HasSubstr(">" + title + "</text>"));
  }
  if (kOfRuns.contains(id)) {
    for (const std::string& words : kOfRuns.at(id))
      EXPECT_THAT(results.summary(), HasSubstr(words));
  }
}

INSTANTIATE_TEST_SUITE_P(ScalingLaws, QuickStudy,
                         ::testing::Values("fig1", "fig2", "fig3", "fig4", "fig5", "fig6", "fig7",
                                           "fig8", "fig9", "fig10", "fig11", "fig12", "fig13",
                                           "fig14", "fig15", "fig16", "table1", "theorem1",
                                           "proposition4", "lemma1", "equation3", "equation23",
                                           "equation26", "compensation", "adaptive-step", "planner",
                                           "decoders"));

// In the last column of their tables.
TEST_F(ScalingLawStudies, ReportsSayWhatTheirSymbolsAre) {
  run("fig4", {{"runs", 1}, {"inputs", 20}});
  EXPECT_THAT(written("fig4", "report.html"), HasSubstr("M outputs belongs to each of N inputs"));
}

TEST_F(ScalingLawStudies, OneRunHasNoStandardError) {
  for (const char* id : {"lemma1", "equation26", "compensation"}) {
    run(id, {{"runs", 1}});
    std::istringstream lines(written(id, "numbers.csv"));
    std::string line;
    std::getline(lines, line);
    EXPECT_TRUE(line.ends_with(",standard error")) << id << ": " << line;
    while (std::getline(lines, line)) EXPECT_TRUE(line.ends_with(",")) << id << ": " << line;
  }
}

// p / s has the error p e / s^2 where s has the error e.
TEST_F(ScalingLawStudies, ARatioHasTheErrorOfWhatItIsDividedBy) {
  const StudyResults results = run("error-per-item", {{"runs", 20}, {"most_runs", 20}});
  std::istringstream lines(written("error-per-item", "items.csv"));
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

TEST_F(ScalingLawStudies, WhatIsChosenIsMeasuredInOtherRuns) {
  StudyOptions options;
  options.folder = folder_.path();
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
  const auto trials = scaling_laws::trial_means(context, "some", 3, 2, seeds_of(chosen));
  scaling_laws::measured(context, "some", 3, 2, seeds_of(reported));
  EXPECT_THAT(trials, testing::ElementsAre(testing::DoubleEq(1), testing::DoubleEq(2)));
  EXPECT_EQ(chosen.size(), 3u);
  EXPECT_EQ(reported.size(), 3u);
  chosen.insert(reported.begin(), reported.end());
  EXPECT_EQ(chosen.size(), 6u);
  EXPECT_EQ(scaling_laws::place_of_least(std::vector<double>{3, 1, 2}), 1u);
}

TEST_F(ScalingLawStudies, TheBestIsChosenBeforeItIsMeasured) {
  const std::map<std::string, Json> studies = {
      {"proposition5", {{"runs", 2}, {"inputs", 64}, {"outputs", 16}}},
      {"equation3", {{"runs", 2}, {"inputs", 40}, {"outputs", 4}}}};
  for (const auto& [id, settings] : studies) {
    run(id, settings);
    EXPECT_THAT(written(id, "parts.jsonl"), HasSubstr(", to choose by\"")) << id;
  }
}

// The exponents hold for every alpha and rho, so they are compared at any setting.
TEST_F(ScalingLawStudies, ExponentsAreThoseOfProposition2) {
  const StudyResults results = run("proposition2", {{"runs", 1},
                                                    {"alphas", {2}},
                                                    {"rhos", {0.5}},
                                                    {"inputs", 100000},
                                                    {"simulated_inputs", 1000}});
  ASSERT_EQ(results.comparisons().size(), 1u);
  const Comparison& comparison = results.comparisons().front();
  EXPECT_NEAR(comparison.ours, comparison.published, 0.02) << comparison.what;
  expect_captions("proposition2");
}

TEST_F(ScalingLawStudies, Theorem2KeepsEachDimensionAsItGoes) {
  run("theorem2", {{"alphas", {2, 2.0000001}}, {"rhos", {0.5}}, {"inputs", 10000}});
  const std::string parts = written("theorem2", "parts.jsonl");
  for (const char* alpha : {"2", "2.0000001"})
    for (const char* d : {"10", "32", "100", "316", "1000", "3162", "10000"})
      EXPECT_THAT(parts, HasSubstr(fmt::format("\"α = {}, d = {}\"", alpha, d)));
}

TEST_F(ScalingLawStudies, RefuseLawsWithoutExponents) {
  EXPECT_THAT(refusal("theorem2", {{"alphas", {1}}}), HasSubstr("alphas has 1;"));
  EXPECT_THAT(refusal("proposition3", {{"alphas", {2}}, {"rhos", {-1}}}),
              HasSubstr("rhos[0] is -1"));
}

TEST_F(ScalingLawStudies, HaveTheSettingsThatTheyUse) {
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
              HasSubstr("unknown key 'alpha'; there are runs, inputs"));
  EXPECT_THAT(refusal("adaptive-step", {{"inputs", 30}}), HasSubstr("unknown key 'inputs'"));
}

TEST_F(ScalingLawStudies, SameSeedSameNumbers) {
  const auto points = [](uint64_t seed) {
    const test::TemporaryFolder folder;
    std::vector<double> values;
    const StudyResults results =
        test::run_quick("scaling-laws/fig13", {{"runs", 2}}, folder.path(), seed);
    for (const ResultPoint& point : results.points()) values.push_back(point.y);
    return values;
  };
  EXPECT_EQ(points(1), points(1));
  EXPECT_NE(points(1), points(2));
}

TEST_F(ScalingLawStudies, SchedulesAreRunOnceWhereTheCaptionHasTheSameInputs) {
  const StudyResults results = run("fig7", {{"runs", 2}, {"inputs", 30}});
  std::map<std::string, std::set<double>> times;
  for (const ResultPoint& point : results.points())
    EXPECT_TRUE(times[point.series].insert(point.x).second) << point.series << " at " << point.x;
  EXPECT_EQ(times.size(), 8u);
}

TEST_F(ScalingLawStudies, SpeakOfReferencesOnlyWhereThereAreSome) {
  const Json fewer = {{"inputs", 20}, {"runs", 1}};
  EXPECT_THAT(run("fig1", fewer).summary(), HasSubstr("reference numbers are left out"));
  EXPECT_THAT(run("theorem1", fewer).summary(),
              testing::Not(HasSubstr("reference numbers are left out")));
}

TEST_F(ScalingLawStudies, SayTheSizesThatWereRun) {
  const Json decoders = {{"runs", 1}, {"inputs", 512}, {"outputs", 50}};
  EXPECT_THAT(run("decoders", decoders).summary(), HasSubstr("V = 50 outputs, d = 512"));
  run("fig6", {{"inputs", 12}});
  EXPECT_THAT(written("fig6", "report.html"),
              HasSubstr("each of 1000 samples; N = 12, M = 5, d = 5, α = 1.5."));
  run("fig1", {{"runs", 1}, {"inputs", 20}, {"alpha", 1.5}});
  EXPECT_THAT(written("fig1", "report.html"), testing::Not(HasSubstr("here 1/d")));
  EXPECT_THAT(run("fig4", {{"runs", 1}, {"inputs", 20}}).summary(),
              testing::Not(HasSubstr("one run in thirty")));
}

TEST_F(ScalingLawStudies, ErrorsOfZeroHaveNoExponent) {
  run("proposition2", {{"runs", 1},
                       {"alphas", {2}},
                       {"rhos", {0.5}},
                       {"inputs", 100000},
                       {"simulated_inputs", 10}});
  // α, ρ, (13), expected error, simulated, N of the simulation
  EXPECT_THAT(written("proposition2", "numbers.csv"), HasSubstr(",,10\n"));
}

TEST_F(ScalingLawStudies, RefuseSettingsThatMakeNoModel) {
  EXPECT_THAT(refusal("fig1", {{"runs", 0}}), HasSubstr("runs is 0"));
  // More outputs than the law counts, and too few vectors to draw a pair of at the widest angle.
  EXPECT_THAT(refusal("fig1", {{"outputs", (int64_t{1} << 32) + 1}}),
              HasSubstr("outputs is 4294967297"));
  for (const char* study : {"fig4", "fig13"})
    EXPECT_THAT(refusal(study, {{"outputs", 1}}), HasSubstr("outputs is 1")) << study;
  EXPECT_THAT(refusal("lemma1", {{"most", 4}}), HasSubstr("most is 4"));
  EXPECT_THAT(refusal("equation3", {{"inputs", 5}}), HasSubstr("inputs is 5, expected 10 or more"));
  EXPECT_THAT(refusal("decoders", {{"inputs", 511}}),
              HasSubstr("inputs is 511, expected 512 or more"));
}

}  // namespace
}  // namespace tessera
