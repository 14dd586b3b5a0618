#include "lab/learner/babi/babi_learner.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/task/babi/simulator.h"
#include "tessera/base/error.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/train/metrics_log.h"
#include "tessera/train/training_report.h"
#include "tests/model/model_checks.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

using test::message_of;
using testing::HasSubstr;

/// A learner after its training.
struct TrainedOnBabi {
  std::shared_ptr<BabiLearner> learner;
  Trained trained;
};

/// Simulated stories of tasks 1 and 15, and a small model.
struct BabiTraining : testing::Test {
  BabiTraining() {
    for (int64_t task : {1, 15})
      write_babi_folder(folder_ / "stories", task, 1,
                        {.training = 60, .validation = 20, .test = 20});
    config_.data = {.folder = folder_ / "stories", .tasks = {1, 15}};
    config_.model.slots = 3;
    config_.model.width = 10;
    config_.model.channels = 12;
    config_.model.hidden = 12;
    config_.train = default_babi_training();
    config_.train.steps = 6;
    config_.train.batch = 4;
    config_.train.accumulation = 2;
    config_.train.warmup_steps = 0;
    config_.train.evaluate_every = 3;
    config_.train.checkpoint_every = 2;
  }

  TrainedOnBabi train(const std::string& run) {
    auto learner = std::make_shared<BabiLearner>(config_);
    Trained trained = tessera::train(*learner, RunFolder(folder_ / run, Start::kNew), nullptr, "");
    return {std::move(learner), std::move(trained)};
  }

  test::TemporaryFolder folder_;
  BabiTrainingConfig config_;
};

TEST_F(BabiTraining, WritesARunWithAModelThatAnswers) {
  const TrainedOnBabi trained = train("run");
  EXPECT_EQ(trained.trained.steps, 6);
  const Metrics& test = trained.trained.test;
  ASSERT_EQ(test.size(), 4u + 2 * 2);
  EXPECT_GT(test.at("loss"), 0);
  EXPECT_NEAR(test.at("error"), (test.at("error_of_task_1") + test.at("error_of_task_15")) / 2,
              1e-12);
  const BabiData data(config_.data);
  const auto evaluations = logged_evaluations(folder_ / "run");
  ASSERT_EQ(evaluations.size(), 2);
  const auto& evaluated = evaluations.begin()->second;
  for (const char* name : {"loss", "error", "error_of_task_1", "error_of_task_15"})
    EXPECT_TRUE(evaluated.contains(name)) << name;
  EXPECT_NEAR(evaluated.at("error"),
              (evaluated.at("error_of_task_1") + evaluated.at("error_of_task_15")) / 2, 1e-12);

  const auto loaded = load_sequence_model(folder_ / "run/model");
  auto& model = dynamic_cast<QuestionAnswerer&>(*loaded);
  test::expect_equal_parameters(model, trained.learner->model());
  EXPECT_EQ(model.configuration().vocabulary, data.vocabulary().size());
  const auto words = config::read_json(folder_ / "run/model/words.json");
  ASSERT_EQ(std::ssize(words), data.vocabulary().size());
  EXPECT_EQ(words.at(5), data.vocabulary().word(5));
  for (int64_t task : {1, 15}) {
    const BabiScore score = score_babi(model, data, task, Split::kTest);
    EXPECT_EQ(score.questions, data.questions(task, Split::kTest).size());
    EXPECT_EQ(score.error(), test.at(babi_error_metric(task)));
  }
  StudyResults results({});
  trained.learner->add_results(trained.trained, results);
  EXPECT_THAT(results.summary(), HasSubstr("Wrong answers of each task"));
  EXPECT_THROW(train("run"), UsageError);
}

TEST(BabiScores, WhereAllQuestionsAreInTrainingTheOthersHaveNoError) {
  const auto shown = [](double seen, double error) {
    return babi_unseen_error({{babi_seen_metric(4), seen}, {babi_unseen_error_metric(4), error}}, 4)
        .shown();
  };
  EXPECT_EQ(shown(0.5, 0.25), "25.00");
  EXPECT_EQ(shown(0.5, 0), "0.00");
  EXPECT_EQ(shown(1, 0), "");
}

TEST_F(BabiTraining, PartsOfAnUpdateAreTheWholeUpdate) {
  config_.train.steps = config_.train.evaluate_every = 1;
  config_.train.clip = 0;
  config_.train.optimizer = OptimizerKind::kRmsprop;
  const TrainedOnBabi halves = train("halves");
  config_.train.batch = 8;
  config_.train.accumulation = 1;
  const TrainedOnBabi whole = train("whole");
  const auto of_whole = whole.learner->model().named_parameters();
  for (const auto& item : halves.learner->model().named_parameters())
    EXPECT_TRUE(item.value().allclose(of_whole[item.key()], 1e-3, 1e-5)) << item.key();
}

TEST_F(BabiTraining, RefusesWhatMakesNoSense) {
  config_.validation_stories = 0;
  EXPECT_THAT(message_of<UsageError>([&] { train("run"); }), HasSubstr("validation_stories"));
  config_.validation_stories = 1;
  config_.model.width = 0;
  EXPECT_THAT(message_of<UsageError>([&] { train("run"); }), HasSubstr("model.width is 0"));
  config_.model.width = 10;
  config_.train.halve_loss = -1;
  EXPECT_THAT(message_of<UsageError>([&] { train("run"); }), HasSubstr("train.halve_loss is -1"));
  config_.train.halve_loss = 0.1;
  config_.train.evaluate_every = 0;
  EXPECT_THAT(message_of<UsageError>([&] { train("run"); }),
              HasSubstr("train.evaluate_every is 0, expected 1 or more"));
  config_.train.halve_loss = 0;
  config_.train.sample_every = 3;
  EXPECT_THAT(message_of<UsageError>([&] { train("run"); }), HasSubstr("train.sample_every is 3"));
}

// A model of a quarter of the paper's width learns a handful of stories by heart.
TEST_F(BabiTraining, LearnsAFewStoriesByHeart) {
  config_.data.tasks = {1};
  config_.model.width = 24;
  config_.model.slots = 4;
  config_.model.first_words = 0.7;
  config_.model.first_positions = 1;
  config_.train.steps = 200;
  config_.train.batch = 30;
  config_.train.learning_rate = config_.train.min_learning_rate = 3e-3;
  config_.train.evaluate_every = 0;
  config_.train.halve_loss = 0;
  config_.train.checkpoint_every = 200;
  config_.train.accumulation = 1;
  const TrainedOnBabi trained = train("run");
  const BabiScore seen =
      score_babi(trained.learner->model(), trained.learner->data(), 1, Split::kTraining);
  EXPECT_LT(seen.error(), 0.2);  // guessing one of six places: 0.83
}

}  // namespace
}  // namespace tessera::task
