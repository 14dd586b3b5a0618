#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lab/study/stm/studies.h"
#include "lab/task/copy/copy.h"
#include "lab/task/sequence/task_kinds.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/train/metrics_log.h"
#include "tests/lab/study/quick_study.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using config::Json;
using testing::HasSubstr;

class StmStudies : public test::PaperStudies {
 protected:
  StmStudies() : PaperStudies("stm") {}

  /// Two updates of tiny models.
  static Json tiny() {
    return {
        {"models", {"STM", "LSTM"}},
        {"stm", {{"slots", 2}, {"width", 6}, {"distilled", 6}}},
        {"baselines", {{"lstm", {{"hidden", 8}}}}},
        {"data", {{"test_samples", 20}}},
        {"train", {{"steps", 2}, {"batch", 8}, {"evaluate_every", 1}, {"evaluate_batches", 1}}}};
  }
};

TEST_F(StmStudies, CompareTheModelsOfEveryTask) {
  for (const char* id : {"copy", "priority-sort", "relational-recall", "convex-hull",
                         "travelling-salesman", "shortest-path", "spanning-tree"}) {
    SCOPED_TRACE(id);
    const StudyResults results = run(id, tiny());
    EXPECT_EQ(results.comparisons().front().what.substr(0, 3), "STM");
    std::map<std::string, int> points;
    for (const ResultPoint& point : results.points()) ++points[point.series];
    EXPECT_EQ(points, (std::map<std::string, int>{{"STM", 2}, {"LSTM", 2}}));
    EXPECT_TRUE(std::filesystem::exists(folder_ / id / "stm-run1" / "model" / "config.json"));
    EXPECT_TRUE(std::filesystem::exists(folder_ / id / "report.html"));
  }
}

// The table's columns: hulls and tours of 5 and of 10 points, by models trained on all numbers.
TEST_F(StmStudies, HullsAndToursAreMeasuredByTheirNumberOfPoints) {
  const auto unlike = [&](const char* id, const Json& settings) {
    const StudyResults results = run(id, settings);
    std::map<std::string, std::string> found;
    for (const auto& row : results.comparisons()) found[row.what] = row.unlike;
    return found;
  };
  Json hulls = tiny();
  hulls["task"] = {{"max_points", 10}, {"most_points", 10}};
  const std::string on_5_to_10 = "trained on 5 to 10 points";
  EXPECT_EQ(unlike("convex-hull", hulls), (std::map<std::string, std::string>{
                                              {"STM, 5 points, right answers (%)", on_5_to_10},
                                              {"STM, 10 points, right answers (%)", on_5_to_10},
                                              {"LSTM, 5 points, right answers (%)", on_5_to_10},
                                              {"LSTM, 10 points, right answers (%)", on_5_to_10}}));
  const std::string on_5 = "trained on 5 points";
  EXPECT_EQ(unlike("travelling-salesman", tiny()),
            (std::map<std::string, std::string>{{"STM, 5 points, right answers (%)", on_5},
                                                {"LSTM, 5 points, right answers (%)", on_5}}));
  Json tours = tiny();  // of the paper's sizes; its tours go in either direction
  tours["task"] = {{"max_points", 10}, {"most_points", 20}};
  std::filesystem::remove_all(folder_ / "travelling-salesman");
  const auto of_tours = unlike("travelling-salesman", tours);
  EXPECT_EQ(of_tours.size(), 4u);
  for (const auto& [what, reason] : of_tours) EXPECT_EQ(reason, "either direction") << what;
}

TEST_F(StmStudies, SeveralTrainingsHaveSeedsOfTheirOwnAndScoresWithADeviation) {
  Json settings = tiny();
  settings["models"] = {"STM"};
  settings["runs"] = 2;
  for (const char* id : {"copy", "priority-sort", "convex-hull", "travelling-salesman",
                         "shortest-path", "spanning-tree"}) {
    SCOPED_TRACE(id);
    const StudyResults results = run(id, settings);
    EXPECT_THAT(results.summary(),
                testing::ContainsRegex("After training, [^:]+: STM [0-9.]+ ± [0-9.]+\\."));
    for (const Comparison& row : results.comparisons())
      EXPECT_THAT(row.what, testing::ContainsRegex("\\(ours ± [0-9.]+\\)$"));
    EXPECT_FALSE(std::isnan(results.points().back().spread));
    const auto seed = [&](const char* name) {
      return config::read_toml(folder_ / id / name / "config.toml")["train"]["seed"];
    };
    EXPECT_EQ(seed("stm-run1"), 1);
    EXPECT_NE(seed("stm-run2"), 1);
  }
}

TEST_F(StmStudies, BaselinesMayHaveARateOfTheirOwn) {
  Json settings = tiny();
  settings["train"]["learning_rate"] = 0.002;
  settings["train"]["min_learning_rate"] = 0.001;
  settings["baselines"]["learning_rate"] = 0.004;
  EXPECT_THAT(run("copy", settings).summary(), HasSubstr(", baselines at a rate of 0.004; the"));
  const auto rates = [&](const char* name) {
    const Json train = config::read_toml(folder_ / "copy" / name / "config.toml")["train"];
    return std::pair(train["learning_rate"], train["min_learning_rate"]);
  };
  EXPECT_EQ(rates("stm-run1"), std::pair(Json(0.002), Json(0.001)));
  EXPECT_EQ(rates("lstm-run1"), std::pair(Json(0.004), Json(0.002)));
}

TEST_F(StmStudies, BaselinesMayHaveABatchOfTheirOwnAndLearnFromAsManySequences) {
  Json settings = tiny();
  settings["task"] = {{"min_points", 3}, {"max_points", 5}, {"most_points", 5}};
  settings["first_task"] = {{"min_points", 3}, {"max_points", 3}, {"most_points", 5}};
  settings["data"]["growing_steps"] = 3;
  settings["train"].update({{"steps", 6},
                            {"batch", 4},
                            {"accumulation", 2},
                            {"warmup_steps", 2},
                            {"evaluate_every", 3},
                            {"evaluate_batches", 2},
                            {"checkpoint_every", 0}});
  settings["baselines"]["batch"] = 2;
  const StudyResults results = run("convex-hull", settings);
  EXPECT_THAT(results.summary(),
              HasSubstr(", baselines in batches of 2, with as many sequences in all; the"));
  std::map<std::string, std::vector<double>> sequences;
  for (const ResultPoint& point : results.points()) sequences[point.series].push_back(point.x);
  EXPECT_THAT(sequences["STM"], testing::ElementsAre(24, 48));
  EXPECT_EQ(sequences["LSTM"], sequences["STM"]);
  const auto numbers = [&](const char* name) {
    const Json config = config::read_toml(folder_ / "convex-hull" / name / "config.toml");
    std::vector<int64_t> found = {config["data"]["growing_steps"]};
    for (const char* key : {"steps", "batch", "accumulation", "warmup_steps", "evaluate_every",
                            "evaluate_batches", "checkpoint_every"})
      found.push_back(config["train"][key]);
    return found;
  };
  EXPECT_THAT(numbers("stm-run1"), testing::ElementsAre(3, 6, 4, 2, 2, 3, 2, 0));
  EXPECT_THAT(numbers("lstm-run1"), testing::ElementsAre(12, 24, 2, 1, 8, 12, 4, 0));
}

TEST_F(StmStudies, SayWhereAPublishedScoreIsOfSomethingElse) {
  const StudyResults copy = run("copy", tiny());
  EXPECT_EQ(copy.comparisons().front().unlike, "other sizes");
  EXPECT_THAT(copy.summary(), HasSubstr("the paper's code has 1 to 20 of 32."));
  EXPECT_THAT(copy.summary(),
              HasSubstr("the paper has RMSprop at a rate of 0.0001, batches of 128."));
  EXPECT_EQ(run("shortest-path", tiny()).comparisons().front().unlike, "metric not stated");
  const StudyResults recall = run("relational-recall", tiny());
  EXPECT_EQ(recall.comparisons().front().unlike, "sizes not stated");
  EXPECT_THAT(recall.summary(), HasSubstr("Its code has 3 items of 2 to 5 vectors of 32 bits"));
  Json published = tiny();
  published["task"] = config::to_json(task::CopyConfig{});
  std::filesystem::remove_all(folder_ / "copy");
  const StudyResults results = run("copy", published);
  EXPECT_EQ(results.comparisons().front().unlike, "");
  EXPECT_THAT(results.summary(), testing::Not(HasSubstr("has 1 to 20 of 32")));
}

// Le et al. 2020, appendix F.
TEST_F(StmStudies, ThePapersTuringMachineHasFiveHeadsToSort) {
  EXPECT_THAT(describe_settings(find_study(all_studies(), "stm/priority-sort")),
              HasSubstr("baselines.ntm.heads = 1 (quick 1, paper 5)"));
  EXPECT_THAT(describe_settings(find_study(all_studies(), "stm/copy")),
              HasSubstr("baselines.ntm.heads = 1  "));
}

TEST_F(StmStudies, BabiComparesTheErrorOfEveryTask) {
  const Json settings = {
      {"tasks", {1, 15}},
      {"simulated", {{"training", 40}, {"validation", 10}, {"test", 30}}},
      {"model", {{"slots", 2}, {"width", 6}, {"channels", 6}, {"hidden", 6}}},
      {"train", {{"steps", 4}, {"batch", 4}, {"accumulation", 2}, {"evaluate_every", 2}}}};
  const StudyResults results = run("babi", settings);
  EXPECT_NEAR(results.comparisons().front().published, 0.0, 1e-12);  // both tasks, table 9
  EXPECT_EQ(results.comparisons().front().unlike, "simulated stories");
  EXPECT_EQ(results.comparisons().back().what, "tasks with more than 5 % wrong, of these 2 tasks");
  EXPECT_EQ(results.comparisons().back().unlike, "of 20 tasks");
  double mean = 0;
  std::map<std::string, int> points;
  for (const ResultPoint& point : results.points()) {
    ++points[point.series];
    if (point.series == "error of a task") mean += point.y / 2;
  }
  EXPECT_NEAR(results.comparisons().front().ours, mean, 1e-9);
  EXPECT_EQ(points, (std::map<std::string, int>{{"error of a task", 2}, {"validation error", 2}}));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "babi/errors.svg"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "babi/learning-curve.svg"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "babi/run/model/words.json"));
  // Once more, and where the folder has been moved: the run is not trained again, and the numbers
  // are the same.
  EXPECT_EQ(run("babi", settings).comparisons().front().ours, results.comparisons().front().ours);
  const auto moved = folder_ / "moved";
  std::filesystem::rename(folder_ / "babi", moved);
  EXPECT_EQ(test::run_quick("stm/babi", settings, moved).comparisons().front().ours,
            results.comparisons().front().ours);
  std::filesystem::rename(moved, folder_ / "babi");

  // From files, here those that the first study simulated; another folder is needed for them.
  const auto stories = folder_ / "stories";
  std::filesystem::rename(folder_ / "babi/stories", stories);
  std::filesystem::remove_all(folder_ / "babi");
  Json from_files = settings;
  from_files["data"] = stories.native();
  EXPECT_EQ(run("babi", from_files).comparisons().front().ours, results.comparisons().front().ours);
  EXPECT_THAT(test::message_of<DataError>([&] {
                test::run_quick("stm/babi", {{"data", (folder_ / "nowhere").native()}},
                                folder_ / "nowhere-study");
              }),
              HasSubstr("the file is missing"));
}

TEST_F(StmStudies, AssociativeRetrievalLeavesPartsOut) {
  Json settings = tiny();
  settings["models"] = {"STM", "STM without transfer", "STM, twice as wide", "STM without gates"};
  const StudyResults results = run("associative-retrieval", settings);
  const auto model = [&](const char* name) {
    return config::read_json(folder_ / "associative-retrieval" / name / "model" / "config.json")
        .at("model");
  };
  EXPECT_EQ(model("stm-run1")["gated"], true);
  EXPECT_EQ(model("stm-without-gates-run1")["gated"], false);
  EXPECT_EQ(model("stm-without-gates-run1")["width"], 12);  // as in table 1
  EXPECT_EQ(model("stm-twice-as-wide-run1")["width"], 12);
  EXPECT_EQ(model("stm-without-transfer-run1")["width"], 6);
  EXPECT_EQ(model("stm-without-transfer-run1")["alpha3"]["learned"], false);
  EXPECT_EQ(model("stm-without-transfer-run1")["alpha3"]["value"], 0);
  EXPECT_THAT(results.summary(), HasSubstr("not reached"));
}

TEST_F(StmStudies, AssociativeRetrievalHasPublishedNumbersOfTwoLengths) {
  const auto epochs = [&](const Json& task, size_t comparisons, int64_t width = 48) {
    const test::TemporaryFolder folder;
    Json settings = tiny();
    settings["models"] = {"STM"};
    settings["stm"]["width"] = width;
    settings["task"] = task;
    const StudyResults results =
        test::run_quick("stm/associative-retrieval", settings, folder.path());
    EXPECT_EQ(results.comparisons().size(), comparisons) << task.dump();
    return read_file(folder / "epochs.csv");
  };
  EXPECT_THAT(epochs({{"pairs", 14}}, 1), HasSubstr("STM,not reached,,20\n"));
  EXPECT_THAT(epochs({{"pairs", 24}}, 1), HasSubstr("STM,not reached,,80\n"));
  EXPECT_THAT(epochs({{"pairs", 8}}, 0), HasSubstr("STM,not reached,,\n"));
  EXPECT_THAT(epochs({{"pairs", 14}, {"keys", 20}}, 0), HasSubstr("STM,not reached,,\n"));
  EXPECT_THAT(epochs({{"pairs", 14}}, 0, /*width=*/24), HasSubstr("STM,not reached,,\n"));
}

// Of a task that is soon solved: the digit that came.
TEST_F(StmStudies, AssociativeRetrievalCountsUpdatesAndTheirSequencesOverAllRuns) {
  Json settings = tiny();
  settings["models"] = {"LSTM"};
  settings["runs"] = 3;
  settings["task"] = {{"pairs", 1}, {"keys", 1}};
  settings["baselines"]["lstm"]["hidden"] = 32;
  settings["baselines"]["batch"] = 64;
  settings["train"] = {{"steps", 3000},         {"batch", 16},
                       {"learning_rate", 0.01}, {"min_learning_rate", 0.01},
                       {"evaluate_every", 40},  {"evaluate_batches", 8},
                       {"accumulation", 2}};
  run("associative-retrieval", settings);
  double sum = 0;
  for (const char* name : {"lstm-run1", "lstm-run2", "lstm-run3"}) {
    int64_t solved = 0;
    for (const auto& [step, metrics] : logged_evaluations(folder_ / "associative-retrieval" / name))
      if (solved == 0 && metrics.at("accuracy") >= 0.99) solved = step;
    ASSERT_GT(solved, 0) << name;
    sum += static_cast<double>(solved);
  }
  const std::string table = read_file(folder_ / "associative-retrieval" / "epochs.csv");
  const std::string updates = fmt::format("LSTM,{},", sum / 3);
  ASSERT_THAT(table, HasSubstr(updates));
  EXPECT_NEAR(std::stod(table.substr(table.find(updates) + updates.size())), sum / 3 * 64 / 100'000,
              1e-6);
}

TEST_F(StmStudies, NthFarthestVariesTheQueries) {
  Json settings = tiny();
  settings["models"] = {"STM, n_q = 1", "STM, n_q = 8", "RMC"};
  EXPECT_THAT(run("nth-farthest", settings).summary(),
              testing::AllOf(HasSubstr("the paper has Adam at a rate of 0.0001, batches of 1600."),
                             HasSubstr("from Santoro et al. 2018")));
  const auto slots = [&](const char* name) {
    return config::read_json(folder_ / "nth-farthest" / name / "model" / "config.json")["slots"];
  };
  EXPECT_EQ(slots("stm-n-q-1-run1"), 1);
  EXPECT_EQ(slots("stm-n-q-8-run1"), 8);
}

// Nothing of what is there is trained again, and more is added.
TEST_F(StmStudies, GoOnWhereTheyStopped) {
  Json settings = tiny();
  settings["models"] = {"LSTM"};
  run("copy", settings);
  const auto log = folder_ / "copy" / "lstm-run1" / "metrics.jsonl";
  const std::string before = read_file(log);
  std::filesystem::remove(folder_ / "copy" / "results.csv");
  run("copy", settings);
  EXPECT_EQ(read_file(log), before);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "copy" / "results.csv"));
  settings["models"] = {"LSTM", "STM"};
  EXPECT_THAT(test::message_of<UsageError>([&] { run("copy", settings); }), HasSubstr("models"));
}

TEST_F(StmStudies, SayWhichBaselinesHaveOtherMemoriesThanThePapers) {
  Json settings = tiny();
  settings["models"] = {"NTM"};
  settings["baselines"]["ntm"] = {{"slots", 4}, {"width", 3}, {"controller", 5}};
  EXPECT_THAT(run("priority-sort", settings).summary(),
              HasSubstr("Memory: NTM 4 x 3, heads: 1; the paper has NTM 128 x 32, heads: 5."));
}

TEST_F(StmStudies, GrowOnlyWhereTheFirstTaskIsAnother) {
  EXPECT_THAT(refusal("copy", {{"data", {{"growing_steps", 2}}}}), HasSubstr("nothing grows"));
}

TEST_F(StmStudies, RefuseModelsThatTheyDoNotHave) {
  EXPECT_THAT(refusal("copy", {{"models", {"LTSM"}}}), HasSubstr("did you mean 'LSTM'?"));
  EXPECT_THAT(refusal("copy", {{"train", {{"seed", 2}}}}), HasSubstr("train.seed would have no"));
  EXPECT_THAT(refusal("copy", {{"stm", {{"inputs", 2}}}}), HasSubstr("stm.inputs would have no"));
  EXPECT_THAT(refusal("copy", {{"models", Json::array()}}), HasSubstr("models is empty"));
  EXPECT_THAT(refusal("copy", {{"runs", 0}}), HasSubstr("runs is 0"));
}

TEST_F(StmStudies, CostTimesTheModels) {
  const StudyResults results = run("cost", {{"batch", 1}, {"iterations", 1}, {"widths", {4, 8}}});
  EXPECT_EQ(results.comparisons().size(), 4u);  // also at another batch, which is stated
  for (const auto& comparison : results.comparisons()) {
    EXPECT_GT(comparison.ours, 0);
    EXPECT_EQ(comparison.unlike, "on a V100");
  }
  EXPECT_THAT(results.summary(), HasSubstr("Batches of 1; the paper has 128."));
  EXPECT_EQ(results.points().size(), 4u);
  EXPECT_THAT(refusal("cost", {{"iterations", 0}}), HasSubstr("iterations is 0"));
}

TEST_F(StmStudies, PongShowsWhatThereIsOfTrainingsWithoutAGame) {
  const Json training = {{"environment", {{"game", {{"points", 1}}}}},
                         {"actor_critic", {{"rollout", 1}}},
                         {"train", {{"steps", 1}, {"batch", 1}, {"evaluate_batches", 1}}}};
  const StudyResults results = run("pong", {{"player_games", 1}, {"training", training}});
  EXPECT_TRUE(results.points().empty());
  EXPECT_EQ(results.chart_names(), (std::vector<std::string>{"rally", "rally-seen"}));
  EXPECT_THAT(read_file(folder_ / "pong" / "agents.csv"), HasSubstr("STM, skip 16"));
}

TEST_F(StmStudies, RefuseToMeasureTwiceOrNothing) {
  EXPECT_EQ(refusal("pong", {{"frame_skips", {4, 4}}}), "frame_skips has '4' twice");
  EXPECT_EQ(refusal("babi", {{"tasks", {1, 1}}}), "tasks has '1' twice");
  EXPECT_EQ(refusal("cost", {{"widths", Json::array()}}),
            "widths is empty, so nothing is measured");
}

TEST_F(StmStudies, BabiRefusesATrainingBeforeStoriesAreSimulated) {
  EXPECT_THAT(refusal("babi", {{"train", {{"sample_every", 3}}}}), HasSubstr("train.sample_every"));
  EXPECT_THAT(refusal("babi", {{"model", {{"slots", 1 << 22}, {"width", 1 << 22}}}}),
              HasSubstr("together too large"));
  EXPECT_THAT(refusal("babi", {{"tasks", {1, 21}}}), HasSubstr("tasks[1] is 21"));
}

TEST_F(StmStudies, RefuseAModelBeforeAnotherIsTrained) {
  Json settings = tiny();
  settings["models"] = {"LSTM", "STM"};
  settings["stm"]["slots"] = settings["stm"]["width"] = int64_t{1} << 22;
  EXPECT_THAT(refusal("copy", settings), HasSubstr("together too large"));
}

/// Recipes of a task that takes no time, at these rates and from these alphas.
Json tiny_recipes(const Json& learning_rates, const Json& alphas) {
  const Json train = {{"steps", 2}, {"batch", 4}, {"warmup_steps", 0}, {"evaluate_batches", 1}};
  return {{"sizes", {"bits=2", "max_length=2"}},
          {"learning_rates", learning_rates},
          {"alphas", alphas},
          {"widths", {4}},
          {"train", train}};
}

// Two rates and two starts of the STM, and four rates of the LSTM between the two.
TEST_F(StmStudies, RecipesTryEachModelAsOften) {
  const StudyResults results = run("recipes", tiny_recipes({1e-3, 8e-3}, {0, 0.5}));
  const auto rates = test::places_of(results);
  EXPECT_THAT(rates.at("STM"), testing::ElementsAre(1e-3, 1e-3, 8e-3, 8e-3));
  EXPECT_THAT(rates.at("LSTM"), testing::Pointwise(testing::DoubleNear(1e-9),
                                                   std::vector<double>{1e-3, 2e-3, 4e-3, 8e-3}));
  EXPECT_THAT(results.summary(), HasSubstr("wrong bits per sequence"));
  EXPECT_THAT(read_file(folder_ / "recipes/tries.csv"),
              HasSubstr("validation loss,wrong bits per sequence\n"));
  EXPECT_THAT(refusal("recipes", {{"alphas", Json::array()}}), HasSubstr("alphas is empty"));
  EXPECT_THAT(refusal("recipes", {{"learning_rates", {0.1, 0}}}),
              HasSubstr("learning_rates[1] is 0, expected a number above 0"));
}

TEST_F(StmStudies, RecipesThatAreShownAlikeAreTrainedApart) {
  const StudyResults results = run("recipes", tiny_recipes({1e-3, 1.001e-3}, {0.5, -0.5}));
  EXPECT_EQ(results.points().size(), 8u);
}

TEST_F(StmStudies, RecipesTryABaselineOnceAtEachRate) {
  const StudyResults results = run("recipes", tiny_recipes({1e-3}, {0, 0.5}));
  EXPECT_THAT(test::places_of(results).at("LSTM"), testing::ElementsAre(1e-3));
}

TEST_F(StmStudies, RecipesGoOnWhereARateDiverges) {
  Json settings = tiny_recipes({1e-3, 1e30}, {0});
  settings["models"] = {"STM"};
  const StudyResults results = run("recipes", settings);
  EXPECT_THAT(test::places_of(results).at("STM"), testing::ElementsAre(1e-3));
  EXPECT_THAT(read_file(folder_ / "recipes/tries.csv"), HasSubstr(",diverged,\n"));
  EXPECT_THAT(results.summary(), HasSubstr("(the lowest rate tried)"));
  run("recipes", settings);  // again
}

TEST_F(StmStudies, RankIsPrintedBeforeAndAfterTraining) {
  const StudyResults results =
      run("rank", {{"tasks", {"associative-retrieval"}}, {"train", {{"steps", 2}, {"batch", 2}}}});
  // An untrained G2 of 96 x 48 48 has a rank of about 66.
  EXPECT_THAT(results.summary(), testing::ContainsRegex("Associative retrieval  48 +66\\.[0-9]"));
  EXPECT_EQ(results.comparisons().front().unlike, "2 updates");
  EXPECT_THAT(refusal("rank", {{"tasks", {"copy", "copi"}}}), HasSubstr("tasks is 'copi'"));
}

/// Lines that are marked, of one sample of a task.
int64_t marked_lines(const task::SequenceTask& task) {
  const Table table = stm_study::solved_samples(task, /*seed=*/3, /*count=*/1).numbers();
  int64_t marked = 0;
  for (const auto& row : table.rows()) marked += row.back().shown() == "yes";
  return marked;
}

TEST(SolvedSamples, MarkTheClosedWayThroughTheAnswer) {
  for (const char* name : {"convex-hull", "travelling-salesman"}) {
    const auto task = task::task_kind(name).make({{"max_points", 8}});
    EXPECT_EQ(marked_lines(*task), std::ssize(task->describe(3, 0).at("answer"))) << name;
  }
}

TEST(SolvedSamples, MarkTheEdgesOfPathAndTree) {
  const auto path = task::task_kind("shortest-path").make(Json::object());
  EXPECT_EQ(marked_lines(*path), std::ssize(path->describe(3, 0).at("answer")) - 1);
  const auto tree = task::task_kind("spanning-tree").make(Json::object());
  const Json sample = tree->describe(3, 0);
  EXPECT_EQ(marked_lines(*tree), std::ssize(sample.at("features")) - 1);
  EXPECT_EQ(stm_study::solved_samples(*tree, 3, 1).numbers().rows().size(),
            sample.at("features").size() + sample.at("edges").size());
}

// Singular values 4, 2, 2: (16 + 4 + 4) / 16.
TEST(NumericalRank, ByHand) {
  const at::Tensor diagonal = at::diag(at::tensor({4.0, 2.0, 2.0}, at::kDouble));
  EXPECT_NEAR(stm_study::numerical_rank(diagonal), 1.5, 1e-12);
  EXPECT_NEAR(stm_study::numerical_rank(at::cat({diagonal, at::zeros({5, 3})})), 1.5, 1e-12);
  EXPECT_NEAR(stm_study::numerical_rank(at::eye(7)), 7, 1e-6);
  EXPECT_NEAR(stm_study::numerical_rank(at::ones({3, 4})), 1, 1e-6);
  EXPECT_EQ(stm_study::numerical_rank(at::zeros({3, 4})), 0);
  EXPECT_EQ(stm_study::numerical_rank(at::zeros({0, 4})), 0);
  EXPECT_THROW(stm_study::numerical_rank(at::zeros({4})), UsageError);
}

}  // namespace
}  // namespace tessera
