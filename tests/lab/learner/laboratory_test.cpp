#include "lab/learner/laboratory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "lab/task/babi/simulator.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/report/study_results.h"
#include "tessera/train/checkpoint.h"
#include "tests/support/other_device.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

using config::Json;
using test::message_of;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// Two updates of a tiny model on each kind of task. stories: a folder that holds some.
std::vector<Json> configurations(const std::filesystem::path& stories) {
  write_babi_folder(stories, 1, 1, {.training = 20, .validation = 10, .test = 10});
  const Json train = {{"steps", 2}, {"batch", 4}, {"evaluate_every", 1}, {"evaluate_batches", 1}};
  Json pong_train = train;
  pong_train["batch"] = 2;
  return {{{"task", {{"name", "copy"}, {"bits", 3}, {"max_length", 2}}},
           {"model", {{"kind", "vector_lstm"}, {"hidden", 8}}},
           {"data", {{"test_samples", 8}}},
           {"train", train}},
          {{"validation_stories", 5},
           {"task", {{"name", "babi"}}},
           {"data", {{"folder", stories.native()}, {"tasks", {1}}}},
           {"model", {{"slots", 2}, {"width", 6}, {"channels", 6}, {"hidden", 6}}},
           {"train", train}},
          {{"task", {{"name", "regbench"}, {"max_strings", 11}, {"max_length", 4}}},
           {"data", {{"languages", 8}, {"held_out", 4}}},
           {"model", {{"kind", "gpt"}, {"layers", 1}, {"heads", 2}, {"channels", 8}}},
           {"train", train}},
          {{"task", {{"name", "pong"}}},
           {"environment", {{"size", 16}, {"longest_game", 40}, {"game", {{"points", 1}}}}},
           {"agent", {{"channels", {2}}, {"kernels", {3}}, {"paddings", {1}}, {"hidden", 4}}},
           {"actor_critic", {{"rollout", 3}}},
           {"train", pong_train}}};
}

TEST(Learners, OfEveryTaskLeaveARunThatIsRepeatedResumedAndLoaded) {
  const TemporaryFolder folder;
  for (const Json& json : configurations(folder / "stories")) {
    const std::string name = json.at("task").at("name");
    SCOPED_TRACE(name);
    const auto run = folder / name;
    const auto learner = make_learner(json, "test");
    const Trained trained = train(*learner, RunFolder(run, Start::kNew), nullptr, "");
    EXPECT_EQ(trained.steps, 2);
    for (const ShownMetric& metric : learner->shown())
      EXPECT_TRUE(trained.validation.contains(metric.name)) << metric.name;
    StudyResults results({});
    learner->add_results(trained, results);
    EXPECT_THAT(results.summary(), HasSubstr(learner->shown().front().label));
    EXPECT_NE(load_sequence_model(run / "model"), nullptr);

    // Its own configuration file continues the run, and repeats it in another folder.
    const Json written = config::read_toml(run / "config.toml");
    EXPECT_EQ(written.at("task").at("name"), name);
    const auto same = make_learner(written, "config.toml");
    EXPECT_EQ(train(*same, RunFolder(run, Start::kResume), nullptr, "").validation,
              trained.validation);
    const auto weights_of = [&](const Json& config, const std::string& run_name) {
      train(*make_learner(config, "config.toml"), RunFolder(folder / run_name, Start::kNew),
            nullptr, "");
      return read_file(folder / run_name / "model" / "model.safetensors");
    };
    const std::string weights = read_file(run / "model" / "model.safetensors");
    EXPECT_TRUE(weights_of(written, name + "-2") == weights);
    Json other = written;
    other["train"]["seed"] = 2;
    EXPECT_FALSE(weights_of(other, name + "-3") == weights);
  }
}

TEST(Learners, GoOnAfterASignalAsIfThereHadBeenNone) {
  const TemporaryFolder folder;
  for (const Json& json : configurations(folder / "stories")) {
    const std::string name = json.at("task").at("name");
    SCOPED_TRACE(name);
    const auto weights_after_training = [&](const std::string& run, Start start) {
      train(*make_learner(json, "test"), RunFolder(folder / run, start), nullptr, "");
      return read_file(folder / run / "model" / "model.safetensors");
    };
    {
      const InterruptGuard guard;
      std::raise(SIGINT);
      EXPECT_THROW(weights_after_training(name, Start::kNew), Interrupted);
    }
    EXPECT_EQ(Checkpoints(folder / name / "checkpoints", 1).last_step(), 1);
    EXPECT_TRUE(weights_after_training(name, Start::kResume) ==
                weights_after_training(name + "-whole", Start::kNew));
  }
}

TEST(Learners, TrainOnAnotherDeviceAndGoOnHere) {
  const TemporaryFolder folder;
  for (Json json : configurations(folder / "stories")) {
    const std::string name = json.at("task").at("name");
    SCOPED_TRACE(name);
    const auto train_on = [&](const at::Device& device, const std::string& run, Start start) {
      json["train"]["device"] = device.str();
      const auto learner = make_learner(json, "test");
      return train(*learner, RunFolder(folder / (name + run), start), nullptr, "");
    };
    if (name == "pong") {
      EXPECT_THAT(message_of<UsageError>([&] { train_on(test::other_device(), "", Start::kNew); }),
                  HasSubstr("train.device is '" + test::other_device().str() + "', expected cpu"));
      continue;
    }
    const Trained here = train_on(at::kCPU, "-here", Start::kNew);
    const Trained there = train_on(test::other_device(), "-there", Start::kNew);
    constexpr double kTolerance = 1e-4;  // other order of the same float sums
    EXPECT_NEAR(there.validation_loss(), here.validation_loss(), kTolerance);
    EXPECT_NEAR(there.test.at("loss"), here.test.at("loss"), kTolerance);
    json["train"]["steps"] = 3;
    EXPECT_EQ(train_on(at::kCPU, "-there", Start::kResume).steps, 3);
  }
}

TEST(Learners, RefuseWhatIsNoTask) {
  const auto refusal = [](const Json& json) {
    return message_of<UsageError>([&] { make_learner(json, "c.toml"); });
  };
  EXPECT_THAT(refusal({{"task", {{"name", "copi"}}}}),
              AllOf(HasSubstr("c.toml: task.name is 'copi'; the tasks are: "),
                    HasSubstr("three-moons, mqar, people, needle, babi, regbench, pong; "
                              "did you mean 'copy'?")));
  EXPECT_THAT(refusal({{"task", 5}}), HasSubstr("task is 5, expected a table with 'name'"));
  EXPECT_THAT(refusal({{"task", Json::object()}}), HasSubstr("a table with 'name'"));
  EXPECT_THAT(refusal({{"task", {{"name", "pong"}}}, {"trian", {{"steps", 1}}}}),
              HasSubstr("did you mean 'train'?"));
  EXPECT_THAT(refusal({{"task", {{"name", "babi"}, {"folder", "x"}}}}), HasSubstr("'task'"));
  EXPECT_THAT(refusal({{"task", {{"name", "regbench"}, {"leters", 3}}}}), HasSubstr("'letters'"));
}

TEST(Learners, NameTheFileOfAWrongValue) {
  const TemporaryFolder folder;
  std::vector<Json> all = configurations(folder / "stories");
  const auto refusal = [](Json json, const char* table, const Json& change) {
    json[table].update(change);
    return message_of<UsageError>([&] { make_learner(json, "c.toml"); });
  };
  for (const Json& json : all) {
    EXPECT_THAT(refusal(json, "train", {{"min_learning_rate", -1}}),
                StartsWith("c.toml: train.min_learning_rate is -1"));
    EXPECT_THAT(refusal(json, "train", {{"device", "abacus"}}), StartsWith("c.toml: "));
  }
  EXPECT_THAT(refusal(all[0], "task", {{"bits", 0}}), StartsWith("c.toml: task.bits is 0"));
  EXPECT_THAT(refusal(all[1], "model", {{"slots", 0}}), StartsWith("c.toml: model.slots is 0"));
  EXPECT_THAT(refusal(all[2], "data", {{"held_out", 0}}), StartsWith("c.toml: data.held_out is 0"));
  EXPECT_THAT(refusal(all[3], "train", {{"accumulation", 2}}),
              StartsWith("c.toml: train.accumulation is 2"));
}

TEST(Learners, AreDescribedWithTheirKeys) {
  EXPECT_THAT(describe_learners(),
              AllOf(HasSubstr("name = \"copy\""), HasSubstr("name = \"babi\""),
                    HasSubstr("validation_stories"), HasSubstr("name = \"regbench\""),
                    HasSubstr("held_out"), HasSubstr("name = \"pong\""), HasSubstr("rollout")));
}

}  // namespace
}  // namespace tessera::task
