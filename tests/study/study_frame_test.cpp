#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tessera/base/file.h"
#include "tessera/report/bar_chart.h"
#include "tessera/study/study.h"

namespace tessera {
namespace {

using testing::HasSubstr;

struct ExampleSettings {
  int64_t runs = 100;
  double rate = 0.5;
  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("runs", runs, "runs that are averaged");
    field("rate", rate, "learning rate");
  }
};

void run_example(StudyContext& context) {
  const auto settings = context.settings<ExampleSettings>({.runs = 2}, {.runs = 10}, {.runs = 100});
  StudyResults& results = context.results();
  results.add_point({"q, \"0\"", 10, 0.1 + 0.2, 0.01, 0.31});
  results.add_point({"q, \"0\"", 20, 0.125});
  results.add_point({"q1", 10, static_cast<double>(settings.runs)});
  results.add_chart("left", results.chart_of_points("Error", {.label = "d"}, {.label = "error"}),
                    "the left panel");
  Table table("Anchors", {"d", "error"});
  table.add_row({10, Cell::fixed(0.123456, 2)});
  results.add_table("anchors", table);
  results.add_difference("10 runs instead of 100");
  results.compare({.what = "error at d = 10", .published = 0.31, .ours = 0.1 + 0.2});
}

Study example() {
  return {"example/fig1", "Error against d", "Somebody 2024", "figure 1", run_example};
}

class StudyFrame : public testing::Test {
 protected:
  StudyFrame() {
    options_.folder =
        std::filesystem::temp_directory_path() / ("tessera-study-" + std::to_string(getpid()));
    std::filesystem::remove_all(options_.folder);
  }
  ~StudyFrame() override { std::filesystem::remove_all(options_.folder); }

  StudyOptions options_;
};

TEST_F(StudyFrame, WritesItsDirectory) {
  options_.seed = 7;
  options_.manifest = {{"revision", "abc"}, {"machine", {{"cores", 2}}}};
  run_study(example(), options_);
  EXPECT_EQ(read_file(options_.folder / "results.csv"),
            "series,x,y,spread,published\n"
            "\"q, \"\"0\"\"\",10,0.30000000000000004,0.01,0.31\n"
            "\"q, \"\"0\"\"\",20,0.125,,\n"
            "q1,10,10,,\n");
  EXPECT_EQ(read_file(options_.folder / "anchors.csv"), "d,error\n10,0.123456\n");
  EXPECT_THAT(read_file(options_.folder / "left.svg"), HasSubstr("<svg"));
  const auto config = config::read_toml(options_.folder / "config.toml");
  EXPECT_EQ(config["study"], "example/fig1");
  EXPECT_EQ(config["size"], "default");
  EXPECT_EQ(config["settings"]["runs"], 10);
  EXPECT_EQ(config["settings"]["rate"], 0.5);
  const auto manifest = config::read_json(options_.folder / "manifest.json");
  EXPECT_EQ(manifest["seed"], 7);
  EXPECT_EQ(manifest["command"], "tessera study example/fig1 --seed 7");
  EXPECT_EQ(manifest["machine"]["cores"], 2);
  const std::string html = read_file(options_.folder / "report.html");
  for (const char* part : {"Error against d", "the left panel", "10 runs instead of 100",
                           "0.30000000000000004", "machine.cores", "tessera study example/fig1"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
}

TEST_F(StudyFrame, SummaryPutsPublishedBesideOurs) {
  const StudyResults results = run_study(example(), options_);
  EXPECT_EQ(results.summary(),
            "Error against d\n"
            "Somebody 2024, figure 1\n\n"
            "Published beside ours\n"
            "what             published  ours  ratio  command\n"
            "---------------  ---------  ----  -----  --------------------------\n"
            "error at d = 10       0.31   0.3   0.97  tessera study example/fig1\n\n"
            "Anchors\n"
            " d  error\n"
            "--  -----\n"
            "10   0.12\n\n"
            "Where the set-up differs from the paper's\n"
            "- 10 runs instead of 100\n");
}

TEST_F(StudyFrame, SizesAndOverridesChooseTheSettings) {
  options_.size = StudySize::kQuick;
  EXPECT_EQ(run_study(example(), options_).points().back().y, 2);
  options_.size = StudySize::kPaper;
  EXPECT_EQ(run_study(example(), options_).points().back().y, 100);
  options_.overrides = {{"runs", 5}};
  const StudyResults results = run_study(example(), options_);
  EXPECT_EQ(results.points().back().y, 5);
  EXPECT_EQ(results.comparison_table().rows()[0][4].shown(),
            "tessera study example/fig1 --paper --set runs=5");
}

TEST_F(StudyFrame, RefusesUnknownOverridesAndWritesNothing) {
  options_.overrides = {{"run", 5}};
  try {
    run_study(example(), options_);
    FAIL() << "expected a UsageError";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'runs'"));
  }
  Study without_settings = example();
  without_settings.run = [](StudyContext&) {};
  EXPECT_THROW(run_study(without_settings, options_), UsageError);
  EXPECT_FALSE(std::filesystem::exists(options_.folder));
}

TEST_F(StudyFrame, FindsStudiesByTheirId) {
  const std::vector<Study> studies = {example()};
  EXPECT_EQ(find_study(studies, "example/fig1").figure, "figure 1");
  try {
    find_study(studies, "example/fig2");
    FAIL() << "expected a UsageError";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'example/fig1'"));
  }
}

TEST(StudyResults, ChartOfPointsSeparatesSeriesAndPublished) {
  StudyResults results({});
  results.add_point({"a", 1, 2, 0.5, 2.5});
  results.add_point({"b", 1, 3});
  results.add_point({"a", 2, 4});
  const auto chart = results.chart_of_points("t", {.label = "x"}, {.label = "y"});
  ASSERT_EQ(chart->series().size(), 3u);
  EXPECT_EQ(chart->series()[0].points.size(), 2u);
  EXPECT_EQ(chart->series()[1].style, SeriesStyle::kPublished);
  EXPECT_EQ(chart->series()[1].points[0].y, 2.5);
  EXPECT_EQ(chart->series()[2].name, "b");
  EXPECT_EQ(results.chart_of_points("t", {}, {}, {"b"})->series().size(), 1u);
  EXPECT_THROW(results.chart_of_points("t", {}, {}, {"c"}), std::invalid_argument);
}

TEST(StudyResults, RefusesNamesThatAreTakenOrNoFileNames) {
  StudyResults results({});
  const auto chart = [] {
    return std::make_unique<BarChart>("t", std::vector<std::string>{}, "", "");
  };
  results.add_chart("left", chart());
  EXPECT_THROW(results.add_chart("left", chart()), std::invalid_argument);
  EXPECT_THROW(results.add_table("left", Table("t", {"a"})), std::invalid_argument);
  EXPECT_THROW(results.add_chart("../left", chart()), std::invalid_argument);
  EXPECT_THROW(results.add_chart("", chart()), std::invalid_argument);
  EXPECT_THROW(results.add_table("results", Table("t", {"a"})), std::invalid_argument);
  EXPECT_THROW(results.add_chart("right", nullptr), std::invalid_argument);
}

TEST(AllStudies, HaveDistinctIdsAndSayWhatTheyShow) {
  for (const Study& study : all_studies()) {
    EXPECT_EQ(&find_study(all_studies(), study.id), &study);
    EXPECT_FALSE(study.title.empty() || study.paper.empty() || study.figure.empty()) << study.id;
    EXPECT_TRUE(study.run) << study.id;
  }
}

}  // namespace
}  // namespace tessera
