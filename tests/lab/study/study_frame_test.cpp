#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <set>
#include <utility>

#include "lab/study/comparison.h"
#include "lab/study/study.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/report/bar_chart.h"
#include "tessera/train/train_config.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct ExampleSettings {
  int64_t runs = 100;
  double rate = 0.5;
  std::string note = {};
  std::vector<int64_t> sizes = {1};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("runs", runs, "runs that are averaged");
    field("rate", rate, "learning rate");
    field("note", note, "a text");
    field("sizes", sizes, "a list");
  }
};

struct OwnRate {
  ExampleSettings train;
  int64_t rate = 1;

  static inline const SettingNames kSetByStudy = {"train.rate"};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("train", train, "a training");
    field("rate", rate, "another rate");
  }
};

struct Training {
  TrainConfig train;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("train", train, "a training");
  }
};

struct TwoTrainings {
  TrainConfig train;
  Training small;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("train", train, "a training");
    field("small", small, "another one");
  }
};

ExampleSettings example_settings(StudyContext& context) {
  return context.settings<ExampleSettings>({.runs = 2}, {.runs = 10}, {.runs = 100}, kEverySetting);
}

void run_example(StudyContext& context) {
  const ExampleSettings settings = example_settings(context);
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
  return {"example/fig1", "Error against d", "Somebody 2024", "figure 1", {}, run_example};
}

class StudyFrame : public testing::Test {
 protected:
  StudyFrame() { options_.folder = above_ / "study"; }

  const test::TemporaryFolder above_;
  StudyOptions options_;
};

TEST_F(StudyFrame, WritesItsDirectory) {
  options_.seed = 7;
  options_.manifest = {{"revision", "abc"},
                       {"machine", {{"cores", 2}, {"vectors", {"fma", "avx2", "avx512f"}}}}};
  run_study(example(), options_);
  EXPECT_EQ(read_file(options_.folder / "results.csv"),
            "series,x,y,spread,published,standard_error\n"
            "\"q, \"\"0\"\"\",10,0.30000000000000004,0.01,0.31,\n"
            "\"q, \"\"0\"\"\",20,0.125,,,\n"
            "q1,10,10,,,\n");
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
  for (const char* part :
       {"Error against d", "the left panel", "10 runs instead of 100", "0.30000000000000004",
        "machine.cores", "fma, avx2, avx512f", "tessera study example/fig1"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
}

TEST_F(StudyFrame, SummaryPutsPublishedBesideOurs) {
  const StudyResults results = run_study(example(), options_);
  EXPECT_EQ(results.summary(),
            "Error against d\n"
            "Somebody 2024, figure 1\n\n"
            "Published beside ours\n"
            "what             published  ours  ratio\n"
            "---------------  ---------  ----  -----\n"
            "error at d = 10       0.31   0.3   0.97\n\n"
            "Anchors\n"
            " d  error\n"
            "--  -----\n"
            "10   0.12\n\n"
            "Where the set-up differs from the paper's\n"
            "- 10 runs instead of 100\n");
}

TEST(StudyResults, ConclusionsComeFirst) {
  StudyResults results({"A title", "A paper", "figure 1", "tessera study x"});
  results.conclude("One is twice the other.");
  EXPECT_EQ(results.summary(), "A title\nA paper, figure 1\n\nOne is twice the other.\n");
  const std::string html = results.html(config::Json::object(), config::Json::object());
  EXPECT_LT(html.find("One is twice the other."), html.find("<div class=\"block command\">"));
}

TEST(StudyResults, AReportIsIntroducedBeforeItConcludes) {
  StudyResults results({"A title", "A paper", "figure 1", "tessera study x"});
  results.conclude("One is twice the other.");
  results.introduce("N are the inputs.");
  EXPECT_THAT(results.summary(), Not(HasSubstr("inputs")));
  const std::string html = results.html(config::Json::object(), config::Json::object());
  EXPECT_LT(html.find("N are the inputs."), html.find("One is twice the other."));
}

TEST(StudyResults, WhereNoRatioExistsThereIsNoColumnOfRatios) {
  StudyResults results({"A title", "A paper", "figure 1", "tessera study x"});
  results.compare({"error of a large memory", 0, 0});
  EXPECT_THAT(results.summary(), Not(HasSubstr("ratio")));
  EXPECT_THAT(results.html(config::Json::object(), config::Json::object()),
              Not(HasSubstr(">ratio</th>")));
}

TEST_F(StudyFrame, SizesAndOverridesChooseTheSettings) {
  options_.size = StudySize::kQuick;
  EXPECT_EQ(run_study(example(), options_).points().back().y, 2);
  std::filesystem::remove_all(options_.folder);
  options_.size = StudySize::kPaper;
  EXPECT_EQ(run_study(example(), options_).points().back().y, 100);
  std::filesystem::remove_all(options_.folder);
  options_.overrides = {{"runs", 5}};
  const StudyResults results = run_study(example(), options_);
  EXPECT_EQ(results.points().back().y, 5);
  EXPECT_EQ(results.heading().command, "tessera study example/fig1 --paper --set runs=5");

  std::filesystem::remove_all(options_.folder);
  options_.overrides = {{"note", "it's"}, {"sizes", {1, 2}}};
  EXPECT_EQ(run_study(example(), options_).heading().command,
            "tessera study example/fig1 --paper --set 'note=\"it'\\''s\"' --set 'sizes=[1,2]'");
}

TEST_F(StudyFrame, RefusesUnknownOverridesAndWritesNothing) {
  options_.overrides = {{"run", 5}};
  EXPECT_THAT(test::message_of<UsageError>([&] { run_study(example(), options_); }),
              HasSubstr("did you mean 'runs'"));
  Study without_settings = example();
  without_settings.run = [](StudyContext&) {};
  EXPECT_THROW(run_study(without_settings, options_), UsageError);
  EXPECT_FALSE(std::filesystem::exists(options_.folder));
}

TEST_F(StudyFrame, OffersNoSettingThatItSetsItself) {
  Study study = example();
  study.run = [](StudyContext& context) {
    context.settings(OwnRate(), OwnRate());
    context.results().add_point({"q", 10, 1});
  };
  EXPECT_THAT(describe_settings(study), AllOf(HasSubstr("  train.runs = "), HasSubstr("  rate = "),
                                              Not(HasSubstr("train.rate"))));
  options_.overrides = {{"rate", 2}};
  EXPECT_NO_THROW(run_study(study, options_));
  options_.overrides = {{"train", {{"rate", 2}}}};
  EXPECT_EQ(test::message_of<UsageError>([&] { run_study(study, options_); }),
            "study settings: train.rate would have no effect, the study sets it itself (seeds by "
            "--seed)");
}

TEST_F(StudyFrame, PublishedNumbersHoldOnlyForTheirSettings) {
  options_.overrides = {{"runs", 7}};  // only how often something is drawn
  const StudyResults same = run_study(example(), options_);
  EXPECT_EQ(same.comparisons().size(), 1u);
  EXPECT_EQ(same.points()[0].published, 0.31);
  std::filesystem::remove_all(options_.folder);
  options_.overrides = {{"rate", 0.25}};
  const StudyResults other = run_study(example(), options_);
  EXPECT_TRUE(other.comparisons().empty());
  EXPECT_TRUE(std::isnan(other.points()[0].published));
  EXPECT_THAT(other.summary(), HasSubstr("left out: they are for rate = 0.5, here it is 0.25"));
  EXPECT_THAT(read_file(options_.folder / "report.html"), HasSubstr("they are for rate = 0.5"));
}

/// Three parts, of which one is stopped by a signal when it is first computed.
struct Interruptible {
  std::vector<std::string> computed;
  bool interrupt = true;

  Study study() {
    return {
        "example/parts", "Parts", "Somebody 2024", "figure 2", {}, [this](StudyContext& context) {
          example_settings(context);
          for (const std::string name : {"a", "b", "c"}) {
            const auto numbers = context.part(name, 4, [&] {
              computed.push_back(name);
              if (name == "b" && std::exchange(interrupt, false)) std::raise(SIGINT);
              return std::vector<double>{1.0 / 3, NAN, INFINITY, -INFINITY};
            });
            context.results().add_point({.series = name, .x = 0, .y = numbers.at(0)});
            EXPECT_TRUE(std::isnan(numbers.at(1)));
            EXPECT_EQ(numbers.at(2), INFINITY);
            EXPECT_EQ(numbers.at(3), -INFINITY);
          }
        }};
  }
};

TEST_F(StudyFrame, GoesOnWhereItWasStopped) {
  Interruptible example;
  EXPECT_THAT(test::message_of<Interrupted>([&] { run_study(example.study(), options_); }),
              testing::AllOf(HasSubstr("stopped with 2 parts of example/parts finished"),
                             HasSubstr("the same command goes on from there")));
  EXPECT_FALSE(std::filesystem::exists(options_.folder / "report.html"));
  const StudyResults results = run_study(example.study(), options_);
  EXPECT_THAT(example.computed, testing::ElementsAre("a", "b", "c"));
  EXPECT_EQ(results.points().at(0).y, 1.0 / 3);
  // All parts are there: nothing is computed.
  run_study(example.study(), options_);
  EXPECT_EQ(example.computed.size(), 3u);
  // What another revision of the program computed does not count; nor does a line cut off.
  options_.manifest = {{"revision", "other"}};
  run_study(example.study(), options_);
  EXPECT_EQ(example.computed.size(), 6u);
  const auto parts = options_.folder / "parts.jsonl";
  std::filesystem::resize_file(parts, std::filesystem::file_size(parts) - 3);
  run_study(example.study(), options_);
  EXPECT_EQ(example.computed.size(), 7u);
  const std::string revision = R"({"revision":"other"})";
  for (const auto& [numbers, count] : {std::pair("[1,2,3]", 3), {"[1,2,3,4,5]", 5}}) {
    write_file(parts, fmt::format("{}\n{{\"part\":\"a\",\"numbers\":{}}}\n", revision, numbers));
    EXPECT_THAT(test::message_of<DataError>([&] { run_study(example.study(), options_); }),
                HasSubstr(fmt::format("the part 'a' has {} numbers, expected 4; remove the file to "
                                      "begin again",
                                      count)));
  }
  for (const std::string line : {"nonsense", R"({"part":"a","numbers":4})"}) {
    write_file(parts, fmt::format("{}\n{}\n", revision, line));
    EXPECT_THAT(test::message_of<DataError>([&] { run_study(example.study(), options_); }),
                HasSubstr("line 2 is not a part of a study"))
        << line;
  }
}

TEST_F(StudyFrame, GoesOnWithAnotherNumberOfThreads) {
  const Study study = {
      "example/trained", "A training", "Somebody 2024", "", {}, [](StudyContext& context) {
        const auto settings = context.settings<TwoTrainings>({}, {}, {}, kEverySetting);
        context.results().add_point({"threads", 1, settings.train.threads * 1.0});
      }};
  options_.overrides = config::Json::parse(R"({"train": {"threads": 1},
                                             "small": {"train": {"threads": 1}}})");
  run_study(study, options_);
  options_.overrides["train"]["threads"] = options_.overrides["small"]["train"]["threads"] = 2;
  EXPECT_EQ(run_study(study, options_).points().front().y, 2);
  options_.overrides["train"]["steps"] = 5;
  EXPECT_THAT(test::message_of<UsageError>([&] { run_study(study, options_); }),
              HasSubstr("began with settings.train.steps = "));
}

TEST_F(StudyFrame, RefusesTheFolderOfAnotherStudyOrOfOtherSettings) {
  const auto refusal = [&](const Study& study) {
    const std::string before = read_file(options_.folder / "results.csv");
    const auto message = test::message_of<UsageError>([&] { run_study(study, options_); });
    EXPECT_EQ(read_file(options_.folder / "results.csv"), before);
    return message;
  };
  run_study(example(), options_);
  Study other = example();
  other.id = "example/fig2";
  EXPECT_THAT(refusal(other), HasSubstr("is the folder of the study example/fig1, not of"));
  options_.overrides = {{"rate", 0.25}};
  EXPECT_THAT(refusal(example()), HasSubstr("began with settings.rate = 0.5, now it is 0.25"));
  options_.overrides = config::Json::object();
  options_.seed = 5;
  EXPECT_THAT(refusal(example()), HasSubstr("began with seed = 1, now it is 5"));
  options_.seed = 1;
  options_.threads = 2;  // no number depends on it
  EXPECT_EQ(run_study(example(), options_).points().size(), 3u);
  for (const char* config : {"steps = 5\n", "study = 5\n", "[study]\nid = \"example/fig1\"\n"}) {
    write_file(options_.folder / "config.toml", config);
    EXPECT_THAT(refusal(example()), HasSubstr("is the folder of something else, not of"));
  }
}

TEST_F(StudyFrame, RunsInOneProcessAtATime) {
  run_study(example(), options_);
  const FileLock other(options_.folder / "lock", "held by this test");
  const std::string before = read_file(options_.folder / "results.csv");
  EXPECT_THAT(test::message_of<std::runtime_error>([&] { run_study(example(), options_); }),
              HasSubstr("lock: another process is at this study; wait until it has ended"));
  EXPECT_EQ(read_file(options_.folder / "results.csv"), before);
}

TEST(StudyContext, TrainingsOfNeighbouringSeedsShareNoSeed) {
  const Study study = example();
  std::set<uint64_t> seeds;
  for (const uint64_t seed : {1U, 2U}) {
    StudyOptions options;
    options.seed = seed;
    StudyResults results(StudyHeading{study.title, study.paper, study.figure, ""});
    const StudyContext context(study, options, results);
    EXPECT_EQ(context.training_seed(0), seed);
    for (int64_t run = 0; run < 10; ++run) seeds.insert(context.training_seed(run));
  }
  EXPECT_EQ(seeds.size(), 20);
  EXPECT_LT(*seeds.rbegin(), uint64_t{1} << 63);  // what config.toml can hold
}

TEST_F(StudyFrame, FindsStudiesByTheirId) {
  const std::vector<Study> studies = {example()};
  EXPECT_EQ(find_study(studies, "example/fig1").figure, "figure 1");
  for (const char* near : {"example/fig2", "fig1"})
    EXPECT_THAT(test::message_of<UsageError>([&] { find_study(studies, near); }),
                HasSubstr("did you mean 'example/fig1'"));
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
  EXPECT_THROW(results.chart_of_points("t", {}, {}, {"c"}), UsageError);
}

TEST(StudyResults, PublishedLinesBreakWhereNothingIsPublished) {
  StudyResults results({});
  const double published[] = {2.5, 3.5, ResultPoint::kNone, 5.5};
  for (int x = 0; x < 4; ++x)
    results.add_point({.series = "a", .x = 1.0 * x, .y = 2, .published = published[x]});
  const auto chart = results.panel_of_points("t", {}, {}, {{"a", "shown"}});
  ASSERT_EQ(chart->series().size(), 3u);
  for (const Series& series : chart->series()) EXPECT_EQ(series.name, "shown");
  EXPECT_EQ(chart->series()[0].points.size(), 4u);
  EXPECT_EQ(chart->series()[1].points.size(), 2u);
  ASSERT_EQ(chart->series()[2].points.size(), 1u);
  EXPECT_EQ(chart->series()[2].points[0].y, 5.5);
}

TEST(StudyResults, ComparesOnlyWithWhatIsPublished) {
  StudyResults results({});
  results.compare({.what = "a", .published = ResultPoint::kNone, .ours = 1});
  results.compare({.what = "b", .published = 0, .ours = 1});
  ASSERT_EQ(results.comparisons().size(), 1u);
  EXPECT_EQ(results.comparisons().front().what, "b");
  EXPECT_TRUE(fixed_or_empty(ResultPoint::kNone, 2).is_empty());
  EXPECT_EQ(fixed_or_empty(0.125, 2).shown(), Cell::fixed(0.125, 2).shown());
}

TEST(StudyResults, RefusesNamesThatAreTakenOrNoFileNames) {
  StudyResults results({});
  const auto chart = [] {
    return std::make_unique<BarChart>("t", std::vector<std::string>{}, "", "");
  };
  results.add_chart("left", chart());
  EXPECT_THROW(results.add_chart("left", chart()), UsageError);
  EXPECT_THROW(results.add_table("left", Table("t", {"a"})), UsageError);
  EXPECT_THROW(results.add_chart("../left", chart()), UsageError);
  EXPECT_THROW(results.add_chart("", chart()), UsageError);
  EXPECT_THROW(results.add_table("results", Table("t", {"a"})), UsageError);
  EXPECT_THROW(results.add_chart("right", nullptr), UsageError);
}

TEST(FolderName, HasLettersDigitsAndSingleHyphens) {
  EXPECT_EQ(folder_name("STM, n_q = 8"), "stm-n-q-8");
  EXPECT_EQ(folder_name("GPT (learned)"), "gpt-learned");
  EXPECT_EQ(folder_name("λ"), "");
}

TEST(StudyTime, IsSaidToTwoDigits) {
  EXPECT_EQ(text_of(took(34)), "34 s");
  EXPECT_EQ(text_of(about(0.2)), "about 1 s");
  EXPECT_EQ(text_of(took(531)), "9 min");
  EXPECT_EQ(text_of(took(1535)), "26 min");
  EXPECT_EQ(text_of(about(10800)), "about 3 h");
}

TEST(AllStudies, SayTheirSettingsBeforeAnyWork) {
  size_t without = 0;  // they evaluate formulas
  for (const Study& study : all_studies()) without += describe_settings(study).empty();
  EXPECT_EQ(without, 2u);
}

TEST(AllStudies, HaveDistinctIdsAndSayWhatTheyShow) {
  for (const Study& study : all_studies()) {
    EXPECT_EQ(&find_study(all_studies(), study.id), &study);
    EXPECT_FALSE(study.title.empty() || study.paper.empty() || study.figure.empty()) << study.id;
    EXPECT_TRUE(study.run) << study.id;
    EXPECT_GT(study.cost.quick.seconds, 0) << study.id;
    EXPECT_LE(study.cost.quick.seconds, study.cost.standard.seconds) << study.id;
  }
}

}  // namespace
}  // namespace tessera
