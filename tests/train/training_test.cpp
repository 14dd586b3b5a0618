#include "tessera/train/learner.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <csignal>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/train/training_report.h"
#include "tests/train/trainer_fixture.h"

namespace tessera {
namespace {

using test::message_of;
using test::TinyLearner;
using test::TinyNetwork;
using test::weights_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Training : testing::Test {
  test::TemporaryFolder folder;
  TrainConfig config = test::tiny_config();
  TinyNetwork network;

  Trained train(TinyLearner& learner, Start start = Start::kNew) {
    return tessera::train(learner, RunFolder(folder / "run", start), nullptr, "tiny");
  }
};

TEST_F(Training, LeavesAWholeRunAndTheWeightsOfTheLowestLoss) {
  TinyLearner learner(network, config);
  at::Tensor after_eight;
  // The second of the three evaluations, after 8 steps, is the best.
  learner.evaluation = [&, losses = std::vector<double>{3, 1, 2}, next = size_t{0}]() mutable {
    if (next == 1) after_eight = weights_of(network);
    const double loss = losses.at(next++);
    return Metrics{{"loss", loss}, {"share", loss / 4}};
  };
  learner.test_score = [&]() -> Metrics {
    EXPECT_FALSE(network.is_training());
    EXPECT_FALSE(at::GradMode::is_enabled());
    return {{"score", 5}};
  };
  const Trained trained = train(learner);
  EXPECT_TRUE(weights_of(network).equal(after_eight));
  EXPECT_TRUE(TensorFile::load(folder / "run/model/tiny.safetensors")
                  .at("weights", after_eight.sizes().vec())
                  .equal(after_eight));
  EXPECT_EQ(trained.folder, folder / "run");
  EXPECT_EQ(trained.steps, 12);
  EXPECT_EQ(trained.validation, (Metrics{{"loss", 1}, {"share", 0.25}}));
  EXPECT_EQ(trained.validation_loss(), 1);
  EXPECT_EQ(trained.test, (Metrics{{"score", 5}}));
  EXPECT_THAT(trained.missing, IsEmpty());
  std::vector<double> speeds;
  for (const auto& line : MetricsLog::read(folder / "run/metrics.jsonl")) {
    if (line["kind"] != "step") continue;
    EXPECT_TRUE(line.contains("gain")) << "what else happened in the step";
    speeds.push_back(line["tokens_per_second"]);
    EXPECT_GE(trained.seconds, line["elapsed_seconds"].get<double>());
  }
  std::sort(speeds.begin(), speeds.end());
  EXPECT_EQ(trained.units_per_second, speeds.at(6));  // of 12
  EXPECT_EQ(config::read_toml(folder / "run/config.toml")["train"]["steps"], 12);
  EXPECT_EQ(config::read_json(folder / "run/manifest.json")["world_size"], 1);
}

TEST_F(Training, ASignalBeforeTheLastStepLeavesARunThatGoesOn) {
  TinyNetwork other;
  TinyLearner whole(other, config);
  tessera::train(whole, RunFolder(folder / "whole", Start::kNew), nullptr, "");
  TinyLearner learner(network, config);
  {
    const InterruptGuard guard;
    std::raise(SIGINT);
    EXPECT_THAT(message_of<Interrupted>([&] { train(learner); }), HasSubstr("after step 1 of 12"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "run/model"));
  EXPECT_EQ(train(learner, Start::kResume).steps, 12);
  EXPECT_TRUE(weights_of(network).equal(weights_of(other)));
}

TEST_F(Training, ASignalAfterTheLastStepNamesWhatIsMissing) {
  TinyLearner learner(network, config);
  learner.test_score = []() -> Metrics { throw Interrupted("the score"); };
  const Trained stopped = train(learner);
  EXPECT_THAT(stopped.missing, ElementsAre("the score"));
  EXPECT_THAT(stopped.test, IsEmpty());
  StudyResults results({});
  add_missing("tiny", stopped, results);
  EXPECT_THAT(results.summary(), HasSubstr("tiny: not measured, because a signal ended the "
                                           "program\nthe score\n"));
  EXPECT_TRUE(std::filesystem::exists(folder / "run/model/tiny.safetensors"));
  learner.test_score = [] { return Metrics{{"score", 5}}; };
  const Trained whole = train(learner, Start::kResume);
  EXPECT_THAT(whole.missing, IsEmpty());
  EXPECT_EQ(whole.test.at("score"), 5);
  EXPECT_EQ(whole.validation, stopped.validation);
}

TEST_F(Training, ALossThatIsNoNumberIsNotTheBest) {
  TinyLearner learner(network, config);
  learner.evaluation = test::evaluations_with({NAN, 2, NAN});
  EXPECT_EQ(train(learner).validation_loss(), 2);
  EXPECT_TRUE(std::isnan(Trained().validation_loss()));
}

TEST_F(Training, ARunGoesOnOnlyAsItBegan) {
  TinyLearner learner(network, config);
  train(learner);
  config.steps = 14;
  config.checkpoint_every = 2;
  TinyLearner longer(network, config);
  EXPECT_EQ(train(longer, Start::kResume).steps, 14);
  config.clip = 0.25;
  TinyLearner other(network, config);
  EXPECT_THAT(message_of<UsageError>([&] { train(other, Start::kResume); }),
              HasSubstr("train.clip = 0.5, now it is 0.25"));
}

/// Runs whose tests found these shares.
TrainedRuns runs_with(std::vector<double> shares) {
  TrainedRuns learner{"tiny", 3, {}};
  for (const double share : shares) {
    learner.runs.emplace_back();
    learner.runs.back().test = {{"share", share}};
  }
  return learner;
}

TEST(TrainedRuns, ScoreIsAMeanWithItsDeviation) {
  const ShownMetric percent{"share", "right (%)", 100, 1};
  const Spread score = runs_with({0.1, 0.14}).score(percent);
  EXPECT_DOUBLE_EQ(score.mean, 12);
  EXPECT_DOUBLE_EQ(score.deviation, std::sqrt(8));
  EXPECT_EQ(runs_with({0.5}).score(percent).deviation, 0);
  TrainedRuns untested = runs_with({0.5});
  untested.runs[0].test = {};
  EXPECT_TRUE(std::isnan(untested.score(percent).mean));
  untested.runs[0].validation = {{"share", 0.25}};
  EXPECT_EQ(untested.score(percent).mean, 25);
}

TEST_F(Training, AReportShowsTheCurveTheScoresAndWhatIsTrivial) {
  TinyLearner learner(network, config);
  learner.evaluation = test::evaluations_with({3, 1, 2});
  learner.test_score = [] { return Metrics{{"loss", 1.5}}; };
  const Trained trained = train(learner);
  StudyResults results({});
  add_training_results({{"tiny", learner.parameter_count(), {trained}}}, learner.shown(),
                       {{"guess", 4}}, results);
  ASSERT_EQ(results.points().size(), 3u);
  EXPECT_EQ(results.points()[1].x, 8);
  EXPECT_EQ(results.points()[1].y, 1);
  EXPECT_TRUE(std::isnan(results.points()[1].spread));
  EXPECT_THAT(results.summary(), testing::AllOf(HasSubstr("1.500"), HasSubstr("guess"),
                                                HasSubstr("48")));  // 24 + 18 + 6 parameters
  EXPECT_THAT(results.summary(), testing::Not(HasSubstr("0.000"))) << "a deviation of one run";
  // A strategy may solve the task, coarsely.
  EXPECT_THAT(results.summary(), HasSubstr("\nSimple strategies, without any learning\n"));
  StudyResults twice({});
  add_training_results({{"tiny", learner.parameter_count(), {trained, trained}}}, learner.shown(),
                       {}, twice);
  EXPECT_THAT(twice.summary(), HasSubstr("0.000"));
  EXPECT_EQ(twice.points()[1].spread, 0);
  EXPECT_EQ(updates_until(trained, {"loss", "loss", 2, 0}, 5), 4);
  EXPECT_EQ(updates_until(trained, {"loss", "loss", 2, 0}, 7), std::nullopt);
  EXPECT_EQ(updates_until(trained, {"reward", "reward", 1, 0}, 0), std::nullopt) << "not measured";
}

}  // namespace
}  // namespace tessera
