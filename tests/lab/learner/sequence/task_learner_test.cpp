#include "lab/learner/sequence/task_learner.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/model/language_model.h"
#include "tessera/train/learner.h"
#include "tessera/train/metrics_log.h"
#include "tests/model/model_checks.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

using config::Json;
using test::message_of;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;

/// Copying one or two vectors of three bits with a tiny two-memory model, within a second.
Json small_copy() {
  return {{"task", {{"name", "copy"}, {"bits", 3}, {"max_length", 2}}},
          {"model",
           {{"kind", "stm"},
            {"slots", 2},
            {"width", 6},
            {"distilled", 6},
            {"readout", 8},
            {"hidden", 12}}},
          {"data", {{"training_samples", 16}, {"test_samples", 40}}},
          {"train",
           {{"steps", 60},
            {"batch", 16},
            {"optimizer", "adamw"},
            {"learning_rate", 0.02},
            {"min_learning_rate", 0.02},
            {"weight_decay", 0},
            {"evaluate_every", 20},
            {"evaluate_batches", 2},
            {"checkpoint_every", 10}}}};
}

TaskTrainingConfig config_of(const Json& json) {
  return TaskTrainingConfig::from_json(json, "test");
}

/// A learner after its training.
struct TrainedOnTask {
  std::shared_ptr<TaskLearner> learner;
  Trained trained;
};

TrainedOnTask train(const Json& json, const std::filesystem::path& folder, Start start) {
  auto learner = std::make_shared<TaskLearner>(config_of(json));
  Trained trained = tessera::train(*learner, RunFolder(folder, start), nullptr, "");
  return {std::move(learner), std::move(trained)};
}

double last_training_loss(const std::filesystem::path& folder) {
  return logged_losses(folder).rbegin()->second;
}

TEST(TaskTraining, LearnsASmallSetByHeartAndSavesTheModel) {
  const TemporaryFolder folder;
  Json json = small_copy();
  json["train"]["steps"] = 250;
  json["train"]["learning_rate"] = 0.01;
  json["train"]["min_learning_rate"] = 0.001;
  const TrainedOnTask trained = train(json, folder / "run", Start::kNew);
  EXPECT_LT(last_training_loss(folder / "run"), 0.2);  // a guess costs ln 2 = 0.69
  EXPECT_EQ(trained.trained.steps, 250);
  // 40 test sequences of 3 or 6 bits.
  const Metrics& test = trained.trained.test;
  EXPECT_EQ(std::round(40 * test.at("perfect_share")), 40 * test.at("perfect_share"));
  EXPECT_GT(test.at("accuracy"), 0.6);
  const auto loaded = load_sequence_model(folder / "run" / "model");
  test::expect_equal_parameters(*loaded, trained.learner->model());
  EXPECT_TRUE(std::filesystem::exists(folder / "run" / "manifest.json"));
  const Json written = config::read_toml(folder / "run" / "config.toml");
  EXPECT_EQ(written["model"]["inputs"], 5);
  EXPECT_EQ(written["model"]["outputs"], 3);
}

TEST(TaskTraining, TokensPassAnEmbedding) {
  const TemporaryFolder folder;
  Json json = small_copy();
  json["task"] = {{"name", "associative-retrieval"}, {"pairs", 2}, {"keys", 3}};
  json["model"]["inputs"] = 6;
  json["train"]["steps"] = 3;
  const TrainedOnTask trained = train(json, folder / "run", Start::kNew);
  EXPECT_EQ(trained.learner->model().kind(), "embedded");
  EXPECT_EQ(trained.learner->model().named_parameters()["embedding"].sizes(),
            at::IntArrayRef({14, 6}));

  const std::string source = folder / "run" / "model";
  json["model"] = {{"from", source}};
  TaskLearner further(config_of(json));
  test::expect_equal_parameters(further.model(), trained.learner->model());
  // What is given is of the model behind the embedding.
  json["model"] = {{"from", source}, {"kind", "stm"}, {"slots", 2}, {"precision", "bf16"}};
  const TaskTrainingConfig changed = config_of(json);
  EXPECT_EQ(changed.model["model"]["precision"], "bf16");
  EXPECT_EQ(config_of(changed.to_json()).model, changed.model);
  json["model"]["slots"] = 3;
  EXPECT_THAT(message_of<UsageError>([&] { config_of(json); }),
              HasSubstr("model.slots is 3, the model in"));
  json["model"] = {{"from", source}};
  json["task"]["keys"] = 4;
  EXPECT_THAT(message_of<UsageError>([&] { config_of(json); }),
              HasSubstr("model.vocabulary is 14, but the task has 15"));
}

Json small_mqar(const std::string& kind) {
  Json json = small_copy();
  json["task"] = {{"name", "mqar"}, {"length", 12}, {"pairs", 2}, {"vocabulary", 16}};
  json["model"] = {{"kind", kind}, {"layers", 1}, {"channels", 8}, {"heads", 2}, {"dropout", 0}};
  return json;
}

TEST(TaskTraining, ALanguageModelAnswersWithTokens) {
  const TemporaryFolder folder;
  Json json = small_mqar("memory_mosaic");
  json["train"]["steps"] = 150;
  json["train"]["learning_rate"] = 0.03;
  const TrainedOnTask trained = train(json, folder / "run", Start::kNew);
  EXPECT_EQ(trained.learner->model().kind(), "memory_mosaic");
  EXPECT_EQ(trained.learner->model().hyper_parameters()["vocabulary"], 16);
  EXPECT_LT(last_training_loss(folder / "run"), 0.3);  // any value of the context costs ln 2
  const auto loaded = load_sequence_model(folder / "run" / "model");
  test::expect_equal_parameters(*loaded, trained.learner->model());
}

TEST(TaskTraining, PaddingDoesNotDependOnTheBatchesOfTheTest) {
  Json json = small_copy();
  json["task"] = {{"name", "shortest-path"}, {"max_nodes", 6}, {"features", 8}};
  TaskLearner learner(config_of(json));
  const auto padded = [&](int64_t rows) {
    return measure(learner.model(), *make_task(json["task"]), 1, 40, rows, [](int64_t, int64_t) {})
        .at("padded_accuracy");
  };
  EXPECT_DOUBLE_EQ(padded(5), padded(40));
}

// Where nothing is asked no logits are computed; the loss is that of targets that do not count.
TEST(TaskTraining, LossAndScoreAreThoseOfTheStepsThatAreAsked) {
  TaskLearner learner(config_of(small_mqar("gpt")));
  auto& model = dynamic_cast<LanguageModel&>(learner.model());
  const auto task = make_task(small_mqar("gpt")["task"]);
  const std::vector<int64_t> samples = {0, 1, 2};
  const TaskBatch batch = make_batch(*task, 1, samples, BatchSizes::kOwn);
  const at::Tensor inputs = batch.inputs.t().contiguous();
  const at::Tensor targets = batch.targets.masked_fill(batch.answers.logical_not(), -1).t();
  const at::Tensor logits = model.logits(model.hidden(inputs)).transpose(0, 1);
  const Metrics measured = measure(model, *task, 1, 3, 3, [](int64_t, int64_t) {});
  EXPECT_NEAR(measured.at("loss"), model.loss(inputs, targets.contiguous()).item<double>(), 1e-5);
  const TaskScore score = score_answers(logits, batch);
  EXPECT_EQ(score, score_answers(logits.index({batch.answers}), batch));
  EXPECT_EQ(score.symbols, 6);
  EXPECT_EQ(measured.at("accuracy"), score.accuracy());
}

TEST(TaskTraining, IsMeasuredOnAnyTaskThatItsModelFits) {
  TaskLearner learner(config_of(small_copy()));
  const auto measured = [&](const config::Json& task) {
    return measure(learner.model(), *make_task(task), 1, 20, 8, [](int64_t, int64_t) {});
  };
  const Metrics longer =
      measured({{"name", "copy"}, {"bits", 3}, {"min_length", 5}, {"max_length", 5}});
  EXPECT_NEAR(longer.at("wrong_per_sequence"), 15 * (1 - longer.at("accuracy")), 1e-9);
  EXPECT_THROW(measured({{"name", "copy"}, {"bits", 4}}), UsageError);
  EXPECT_THAT(message_of<UsageError>([&] {
                measured({{"name", "nth-farthest"}, {"vectors", 4}, {"dimension", 2}});
              }),
              HasSubstr("Stm: x has shape [8, 4, 14], expected [*, *, 5]"));
}

// Vectors of length 1 alone are learned; the test has both lengths.
TEST(TaskTraining, MayPractiseOnAnotherTask) {
  const TemporaryFolder folder;
  Json json = small_copy();
  json["training_task"] = {{"max_length", 1}};
  const TrainedOnTask easier = train(json, folder / "easier", Start::kNew);
  const TrainedOnTask same = train(small_copy(), folder / "same", Start::kNew);
  EXPECT_NE(last_training_loss(folder / "easier"), last_training_loss(folder / "same"));
  // Both are measured on both lengths: a wrong bit in 40 sequences is as many of all bits in both.
  const auto bits = [](const Metrics& test) {
    return test.at("wrong_per_sequence") / (1 - test.at("accuracy"));
  };
  EXPECT_NEAR(bits(easier.trained.test), bits(same.trained.test), 1e-9);
}

// From 1 to 4 vectors in 30 updates, each length as long as the others; then those of the task.
TEST(TaskTraining, MayBeginWithSmallSizes) {
  Json json = small_copy();
  json["task"]["max_length"] = 4;
  json["training_task"] = {{"max_length", 1}};
  json["data"]["growing_steps"] = 30;
  const TaskTrainingConfig config = config_of(json);
  const auto longest = [&](int64_t step) { return config.training_task_at(step)["max_length"]; };
  EXPECT_EQ(longest(0), 1);
  EXPECT_EQ(longest(9), 1);
  EXPECT_EQ(longest(10), 2);
  EXPECT_EQ(longest(29), 3);
  EXPECT_EQ(longest(30), 4);
  EXPECT_EQ(longest(1'000'000), 4);
  const auto steps_of = [&](int64_t step) {
    return make_task(config.training_task_at(step))->sample(1, 0).steps;
  };
  EXPECT_EQ(steps_of(0), 2 * 1 + 2);
}

TEST(TaskTraining, ARunInPiecesIsTheWholeRun) {
  const TemporaryFolder folder;
  const auto growing_copy = [] {
    Json json = small_copy();
    json["training_task"] = {{"max_length", 1}};
    json["data"]["growing_steps"] = 30;
    return json;
  };
  const TrainedOnTask whole = train(growing_copy(), folder / "whole", Start::kNew);
  Json json = growing_copy();
  json["train"]["steps"] = 25;
  train(json, folder / "pieces", Start::kNew);
  json["train"]["steps"] = 60;
  const TrainedOnTask pieces = train(json, folder / "pieces", Start::kResume);
  test::expect_equal_parameters(pieces.learner->model(), whole.learner->model());
  EXPECT_EQ(pieces.trained.test, whole.trained.test);
}

TEST(TaskTraining, ARunGoesOnOnlyAsItBegan) {
  const TemporaryFolder folder;
  Json json = small_copy();
  json["train"]["steps"] = 2;
  train(json, folder / "run", Start::kNew);
  json["model"]["alpha1"] = {{"value", 0.5}};
  EXPECT_THAT(message_of<UsageError>([&] { train(json, folder / "run", Start::kResume); }),
              HasSubstr("model.alpha1.value = 0.0, now it is 0.5"));
}

TEST(TaskTraining, GoesOnFromAModel) {
  const TemporaryFolder folder;
  const TrainedOnTask first = train(small_copy(), folder / "first", Start::kNew);
  Json longer = small_copy();
  longer["task"]["max_length"] = 3;  // of the same widths
  const std::string source = folder / "first" / "model";
  longer["model"] = {{"from", source}};
  TaskLearner learner(config_of(longer));
  test::expect_equal_parameters(learner.model(), first.learner->model());
  EXPECT_EQ(learner.configuration()["model"]["from"], source);

  Json same = longer;
  same["model"]["width"] = 6;
  same["model"]["alpha1"] = {{"value", 0.0}, {"learned", true}};
  EXPECT_NO_THROW(config_of(same));
  same["model"]["alpha1"] = {{"learned", true}, {"value", 0.0}};
  EXPECT_NO_THROW(config_of(same)) << "the order of keys counts";
  same["model"]["alpha1"] = {{"value", 0.0}};
  EXPECT_TRUE(config_of(same).model["alpha1"]["learned"]);
  same["model"]["alpha1"] = {{"value", 0.5}};
  EXPECT_THAT(message_of<UsageError>([&] { config_of(same); }), HasSubstr("model.alpha1 is"));
  Json wider = longer;
  wider["model"]["width"] = 7;
  EXPECT_THAT(message_of<UsageError>([&] { config_of(wider); }),
              HasSubstr("model.width is 7, the model in"));
  Json others = longer;
  others["task"]["bits"] = 4;
  EXPECT_THAT(message_of<UsageError>([&] { config_of(others); }),
              HasSubstr("model.outputs is 3, but the task has 4"));
}

TEST(TaskTrainingConfig, RefusesWhatMakesNoTraining) {
  const auto refusal = [](Json json, const char* changes) {
    json.merge_patch(Json::parse(changes));
    return message_of<UsageError>([&] { config_of(json); });
  };
  EXPECT_EQ(refusal(small_copy(), R"({"training_task": {"max_length": 1}})"), "");
  EXPECT_THAT(refusal(small_mqar("gpt"), R"({"model": {"vocabulary": 17}})"),
              HasSubstr("model.vocabulary is 17, but the task has 16"));
  for (const auto& [changes, reason] : std::vector<std::pair<const char*, const char*>>{
           {R"({"models": 1})", "did you mean 'model'?"},
           {R"({"task": {"bit": 4}})", "'bits'"},
           {R"({"model": {"kind": null}})", "'kind'"},
           {R"({"model": {"kind": 3}})", "model.kind is 3, expected a name"},
           {R"({"model": {"kind": "gpt"}})", "does not read vectors"},
           {R"({"model": {"inputs": 34}})", "model.inputs is 34, but the task has 5"},
           {R"({"model": {"outputs": 34}})", "model.outputs is 34, but the task has 3"},
           {R"({"model": {"width": 0}})", "model.width"},
           {R"({"data": {"training_samples": 15}})", "at least train.batch"},
           {R"({"data": {"test_samples": 0}})", "data.test_samples"},
           {R"({"data": {"growing_steps": -1}})", "data.growing_steps"},
           {R"({"data": {"growing_steps": 5}})",
            "data.growing_steps is 5, but [training_task] has"},
           {R"({"training_task": {"bits": 4}})", "other widths"},
           {R"({"training_task": {"name": "copy"}})", "without a name"},
           {R"({"training_task": {"max_length": "short"}, "data": {"growing_steps": 5}})",
            "training_task.max_length is \"short\" and task.max_length is 2; "
            "data.growing_steps lets whole numbers grow alone"},
           // Whole numbers would end below the task's own rate.
           {R"({"task": {"name": "three-moons", "rate": 2.5, "bits": null, "max_length": null},
                "training_task": {"rate": 1}, "data": {"growing_steps": 5}})",
            "training_task.rate is 1 and task.rate is 2.5;"},
           {R"({"train": {"sample_every": 3}})", "train.sample_every"}})
    EXPECT_THAT(refusal(small_copy(), changes), HasSubstr(reason)) << changes;
}

// Keys that are compound need a square number of pairs: 4 and 9 are, 5 is not.
TEST(TaskTrainingConfig, RefusesASizeThatTheTaskWouldGrowThrough) {
  Json json = small_mqar("gpt");
  json["task"] = {
      {"name", "mqar"}, {"length", 64}, {"pairs", 9}, {"vocabulary", 48}, {"compound", true}};
  json["training_task"] = {{"pairs", 4}};
  EXPECT_NO_THROW(config_of(json));
  json["data"]["growing_steps"] = 100;
  const auto is_refused = AllOf(HasSubstr("after 20 updates [task] is {"),
                                HasSubstr("task.pairs is 5, expected a square number"));
  EXPECT_THAT(message_of<UsageError>([&] { config_of(json); }), is_refused);

  TaskTrainingConfig of_study;  // which reads no file
  of_study.task = json["task"];
  of_study.training_task = json["training_task"];
  of_study.model = json["model"];
  of_study.data.growing_steps = 100;
  EXPECT_THAT(message_of<UsageError>([&] { TaskLearner{of_study}; }), is_refused);
  of_study.task["compound"] = false;
  EXPECT_NO_THROW(of_study.check());
}

// A task of many people grows through all their numbers: drawing them each time would take hours.
TEST(TaskTrainingConfig, ChecksTheSizesOfAGrowingTaskWithoutItsContent) {
  TaskTrainingConfig config;
  config.task = {{"name", "people"}, {"people", 10'000'000}};
  config.training_task = {{"people", 9'999'000}};
  config.data.growing_steps = 1000;
  config.model = small_mqar("gpt")["model"];
  EXPECT_NO_THROW(config.check());
}

// A bit and a class in percent of them; trivial scores are in the unit of the first metric.
TEST(TaskLearner, ShowsThePapersMetricFirst) {
  const auto first = [](const char* task) {
    return shown_metrics(*make_task({{"name", task}})).front();
  };
  EXPECT_EQ(first("copy").name, "wrong_per_sequence");
  EXPECT_EQ(first("convex-hull").factor, 100);
  EXPECT_EQ(first("three-moons").name, "mean_absolute_error");
  EXPECT_EQ(TaskLearner(config_of(small_copy())).trivial_scores().front().value, 2.25);
  Json retrieval = small_copy();
  retrieval["task"] = {{"name", "associative-retrieval"}, {"pairs", 2}, {"keys", 3}};
  retrieval["model"]["inputs"] = 6;
  EXPECT_EQ(TaskLearner(config_of(retrieval)).trivial_scores().front().value, 10);
}

}  // namespace
}  // namespace tessera::task
