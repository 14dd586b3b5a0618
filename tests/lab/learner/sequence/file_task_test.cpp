#include "lab/learner/sequence/file_task.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "lab/learner/sequence/task_learner.h"
#include "lab/task/sequence/task_kinds.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/tensor/tensor_file.h"
#include "tessera/train/learner.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

using test::message_of;
using testing::ElementsAre;
using testing::HasSubstr;

class FileTasks : public testing::Test {
 protected:
  FileTask task(std::string_view lines, const std::optional<TaskShape>& shape = std::nullopt) {
    write_file(folder_ / "lines.jsonl", lines);
    return FileTask(folder_ / "lines.jsonl", shape);
  }
  std::string refusal(std::string_view lines, const std::optional<TaskShape>& shape = {}) {
    return message_of<DataError>([&] { task(lines, shape); });
  }
  FileTask tensors(const NamedTensors& tensors,
                   const std::map<std::string, std::string>& metadata = {}) {
    save_tensors(folder_ / "task.safetensors", tensors, metadata);
    return FileTask(folder_ / "task.safetensors");
  }

  test::TemporaryFolder folder_;
};

// What a task writes is the task: the same samples, after the steps that nothing asks are gone.
TEST_F(FileTasks, HaveTheSamplesOfTheTaskThatWroteThem) {
  for (const TaskKind& kind : task_kinds()) {
    SCOPED_TRACE(kind.name);
    const auto named = kind.make(config::Json::object());
    write_tensors(*named, 3, 0, 5, folder_ / "some.safetensors");
    const FileTask read(folder_ / "some.safetensors");
    EXPECT_EQ(read.shape(), named->shape());
    EXPECT_EQ(read.samples(), 5);
    for (int64_t index = 0; index < 5; ++index) {
      const TaskSample sample = read.sample(0, index), expected = named->sample(3, index);
      EXPECT_EQ(sample.inputs, expected.inputs);
      EXPECT_EQ(sample.tokens, expected.tokens);
      EXPECT_EQ(sample.first_answer, expected.first_answer);
      EXPECT_EQ(sample.classes, expected.classes);
      EXPECT_EQ(sample.bits, expected.bits);
      EXPECT_EQ(sample.vectors, expected.vectors);
    }
  }
}

TEST_F(FileTasks, AreReadFromLines) {
  const TaskShape shape{
      .input_width = 2, .output_width = 1, .targets = TargetKind::kVectors, .clip = 0.5};
  const std::string lines = R"({"inputs":[[0.5,1],[2,3],[4,5]],"vectors":[[0.25],[-7]]})";
  const std::string told = config::Json{{"shape", config::to_json(shape)}}.dump() + "\n" + lines;
  for (const FileTask& vectors : {task(told), task(lines, shape)}) {
    EXPECT_EQ(vectors.shape(), shape);
    EXPECT_EQ(vectors.samples(), 1);
    EXPECT_THAT(vectors.sample(1, 0).inputs, ElementsAre(0.5F, 1, 2, 3, 4, 5));
    EXPECT_THAT(vectors.sample(1, 0).vectors, ElementsAre(0.25F, -7));
    EXPECT_EQ(vectors.sample(1, 0).first_answer, 1);
  }
  const FileTask classes = task(R"({"tokens":[2,0,1],"classes":[4,-1,0]})");
  EXPECT_THAT(classes.sample(1, 0).tokens, ElementsAre(2, 0, 1));
  EXPECT_THAT(classes.sample(1, 0).classes, ElementsAre(4, kNotAsked, 0));
}

TEST_F(FileTasks, TellTheirShapeBySamples) {
  const FileTask tokens =
      task("{\"tokens\":[2,0,1],\"classes\":[4]}\n{\"tokens\":[0],\"classes\":[0]}");
  EXPECT_EQ(tokens.shape(),
            (TaskShape{.vocabulary = 3, .output_width = 5, .targets = TargetKind::kClasses}));
  EXPECT_EQ(tokens.sample(0, 0).first_answer, 2);
  EXPECT_THROW(tokens.sample(0, 2), UsageError);
  const FileTask bits = task(R"({"inputs":[[0.5,1],[2,3]],"bits":[[1,0,1]],"first_answer":0})");
  EXPECT_EQ(bits.shape(), (TaskShape{.input_width = 2, .output_width = 3}));
  EXPECT_THAT(bits.sample(9, 0).inputs, ElementsAre(0.5F, 1, 2, 3));
  EXPECT_EQ(bits.sample(9, 0).first_answer, 0);
  EXPECT_EQ(task("\n{\"tokens\":[2],\"classes\":[4]}\n \r\n\n{\"tokens\":[0],\"classes\":[0]}\n\n")
                .samples(),
            2);
  const FileTask vectors = tensors({{"inputs", at::ones({3, 2, 4})},
                                    {"targets", at::full({3, 2, 1}, 0.5)},
                                    {"answers", at::ones({3, 2}, at::kBool)}});
  EXPECT_EQ(vectors.shape().targets, TargetKind::kVectors);
  EXPECT_TRUE(std::isinf(vectors.shape().clip));
}

TEST_F(FileTasks, RefuseWhatIsNoSample) {
  EXPECT_THAT(refusal(""), HasSubstr("there is no sample"));
  EXPECT_THAT(refusal("{\"tokens\":[1],\"classes\":[0]}\n[1]"),
              HasSubstr("lines.jsonl: line 2: expected an object, found array"));
  EXPECT_THAT(refusal("{"), HasSubstr("line 1"));
  EXPECT_THAT(refusal(R"({"tokens":[-1],"classes":[0]})"), HasSubstr("a token is -1"));
  EXPECT_THAT(refusal(R"({"tokens":[1],"classes":[2000000]})"), HasSubstr("a class is 2000000"));
  EXPECT_THAT(refusal(R"({"tokens":[1e300],"classes":[0]})"), HasSubstr("expected whole numbers"));
  EXPECT_THAT(refusal(R"({"tokens":[1,2],"classes":[18446744073709551615,0]})"),  // not -1
              HasSubstr("a list has 18446744073709551615, expected whole numbers below 2^63"));
  EXPECT_THAT(refusal(R"({"tokens":[1],"classes":[0,1]})"),
              HasSubstr("2 answers from step -1 on do not fit into 1 steps"));
  EXPECT_THAT(refusal(R"({"tokens":[1,2],"classes":[0],"first_answer":9223372036854775807})"),
              HasSubstr("do not fit"));
  EXPECT_THAT(refusal(R"({"tokens":[1]})"), HasSubstr("no step answers"));
  EXPECT_THAT(refusal(R"({"tokens":[1,2],"classes":[-1,-1]})"), HasSubstr("no step answers"));
  EXPECT_THAT(refusal(R"({"tokens":[1,2],"classes":[-2,0]})"), HasSubstr("a class is -2"));
  EXPECT_THAT(refusal(R"({"inputs":[[1],[1,2]],"classes":[0]})"),
              HasSubstr("a row is [1,2], expected a list of 1 numbers"));
  EXPECT_THAT(refusal(R"({"inputs":[["a"]],"classes":[0]})"), HasSubstr("must be number"));
  EXPECT_THAT(refusal(R"({"inputs":[[1e300]],"classes":[0]})"), HasSubstr("not finite"));
  EXPECT_THAT(refusal(R"({"inputs":[[]],"classes":[0]})"), HasSubstr("0 tokens, expected 1"));
  EXPECT_THAT(refusal(R"({"inputs":[[1]],"bits":[[2]]})"), HasSubstr("neither 0 nor 1"));
  EXPECT_THAT(refusal(R"({"inputs":[[1]],"bits":[[1]],"classes":[0]})"),
              HasSubstr("the answer is bits and classes, expected one"));
  EXPECT_THAT(refusal(R"({"input":[[1]],"bits":[[1]]})"), HasSubstr("'input' is unknown"));
  EXPECT_THAT(refusal(R"({"index":0,"tokens":[1],"classes":[0]})"),
              HasSubstr("'index' is unknown"));
  EXPECT_THAT(refusal(R"({"tokens":[1],"classes":[0],"first_answer":"0"})"),
              HasSubstr("first_answer is \"0\", expected a whole number"));
  EXPECT_THAT(refusal(R"({"tokens":1,"classes":[0]})"), HasSubstr("tokens is 1, expected a list"));
  EXPECT_THAT(refusal("{\"tokens\":[1],\"classes\":[0]}\n{\"inputs\":[[1]],\"classes\":[0]}"),
              HasSubstr("line 2: found inputs, but the task needs tokens"));
  EXPECT_THAT(refusal(R"({"shape":{"output_width":-1}})"), HasSubstr("expected widths from 0"));
  EXPECT_THAT(refusal(R"({"shape":{"outputs":1}})"), HasSubstr("unknown key 'outputs'"));
  EXPECT_THAT(refusal(R"({"shape":{"vocabulary":2,"input_width":1,"output_width":1}})"),
              HasSubstr("expected a vocabulary or an input_width, the other one 0"));
  EXPECT_THAT(refusal("{\"shape\":{\"input_width\":1,\"output_width\":1,\"targets\":\"vectors\"}}\n"
                      "{\"inputs\":[[1]],\"vectors\":[[1]]}"),
              HasSubstr("expected a clip above 0: no error in a vector would count"));
  EXPECT_THAT(refusal(R"({"inputs":[[1]],"bits":[[]]})"), HasSubstr("the answers have no numbers"));
  const TaskShape three{.vocabulary = 4, .output_width = 3, .targets = TargetKind::kClasses};
  EXPECT_EQ(refusal(R"({"tokens":[3],"classes":[2]})", three), "");
  EXPECT_THAT(refusal(R"({"tokens":[3],"classes":[3]})", three), HasSubstr("from -1 to 2"));
  EXPECT_THAT(refusal(R"({"inputs":[[3]],"classes":[2]})", three),
              HasSubstr("line 1: found inputs, but the task needs tokens"));
  EXPECT_THAT(
      refusal(R"({"tokens":[3],"bits":[[1]]})", TaskShape{.input_width = 1, .output_width = 1}),
      HasSubstr("line 1: found tokens, but the task needs inputs"));
  EXPECT_THAT(refusal(R"({"tokens":[3],"bits":[[1]]})", three), HasSubstr("the task has"));
  EXPECT_THROW(FileTask(folder_ / "nowhere.jsonl"), SystemError);
}

TEST_F(FileTasks, RefuseTensorsThatDoNotFit) {
  const at::Tensor inputs = at::zeros({3, 2}, at::kLong), classes = at::zeros({3, 2}, at::kLong);
  const auto refused = [&](const NamedTensors& all) {
    return message_of<DataError>([&] { tensors(all); });
  };
  at::Tensor answers = at::ones({3, 2}, at::kBool);
  EXPECT_EQ(refused({{"inputs", inputs}, {"targets", classes}, {"answers", answers}}), "");
  EXPECT_THAT(refused({{"inputs", inputs}, {"targets", classes}}), HasSubstr("answers"));
  EXPECT_THAT(
      refused({{"inputs", inputs}, {"targets", classes.narrow(0, 0, 2)}, {"answers", answers}}),
      HasSubstr("targets"));
  EXPECT_THAT(
      refused({{"inputs", inputs.to(at::kInt)}, {"targets", classes}, {"answers", answers}}),
      HasSubstr("inputs"));
  answers[1][1] = false;
  EXPECT_EQ(refused({{"inputs", inputs}, {"targets", classes}, {"answers", answers}}), "");
  EXPECT_THAT(
      refused({{"inputs", inputs}, {"targets", at::zeros({3, 2, 4})}, {"answers", answers}}),
      HasSubstr("sequence 1: the steps that answer with bits are not consecutive"));
}

/// A tiny model on files of one's own.
TaskTrainingConfig tiny() {
  TaskTrainingConfig config;
  config.model = {{"kind", "stm"}, {"slots", 2}, {"width", 6}, {"distilled", 6}};
  config.train.steps = 2;
  config.train.batch = 4;
  return config;
}

TEST_F(FileTasks, AreTrainedOn) {
  const auto copy = task_kind("copy").make({{"bits", 3}, {"max_length", 2}});
  config::Json files;
  for (const char* part : {"file", "validation", "test"}) {
    files[part] = (folder_ / part).native() + ".safetensors";
    write_tensors(*copy, files.size(), 0, 6, files[part].get<std::string>());
  }
  TaskTrainingConfig config = tiny();
  config.task = files;
  TaskLearner learner(TaskTrainingConfig::from_json(config.to_json(), "test"));
  const Trained trained =
      tessera::train(learner, RunFolder(folder_ / "run", Start::kNew), nullptr, "");
  const double perfect = 6 * trained.test.at("perfect_share");  // of six sequences
  EXPECT_EQ(std::round(perfect), perfect);
  const config::Json written = config::read_toml(folder_ / "run" / "config.toml")["task"];
  for (const auto& [part, path] : files.items()) EXPECT_EQ(written[part], path);

  config.data.growing_steps = 5;
  EXPECT_EQ(message_of<UsageError>([&] { config.make_sets(); }),
            "data.growing_steps is 5, but files have their own samples; leave it out");
  config.data = {.training_samples = 3};
  EXPECT_THAT(message_of<UsageError>([&] { config.make_sets(); }),
              HasSubstr("data.training_samples is 3"));
  config.data = {.test_samples = 3};
  EXPECT_THAT(message_of<UsageError>([&] { config.make_sets(); }),
              HasSubstr("data.test_samples is 3"));
  config.data = {};
  config.task.erase("test");
  EXPECT_EQ(message_of<UsageError>([&] { config.make_sets(); }), "task.test is missing");
  config.task["tests"] = 1;
  EXPECT_THAT(message_of<UsageError>([&] { config.make_sets(); }), HasSubstr("'test'?"));
}

/// Says the last bit again.
class Echo : public SequenceTask {
 public:
  TaskShape shape() const override { return {.input_width = 1, .output_width = 1}; }
  TaskSample draw_sample(uint64_t seed, int64_t index, int64_t) const override {
    TaskSample sample;
    sample.add_row(1)[0] = static_cast<float>((seed + static_cast<uint64_t>(index)) % 2);
    sample.bits = sample.inputs;
    sample.answers = 1;
    ++drawn;
    return sample;
  }
  config::Json describe(uint64_t, int64_t index) const override { return {{"index", index}}; }
  std::vector<Level> levels() const override { return {}; }

  mutable std::atomic<int64_t> drawn = 0;
};

TEST_F(FileTasks, ATaskOfTheCallersOwnIsTrainedOn) {
  TaskTrainingConfig config = tiny();
  config.task = {{"own", "echo"}};
  EXPECT_THROW(TaskLearner{config}, UsageError);
  const auto echo = std::make_shared<Echo>();
  const auto train = [&](Start start) {
    TaskLearner learner(config, {echo, echo, echo});
    return tessera::train(learner, RunFolder(folder_ / "run", start), nullptr, "").test;
  };
  const Metrics test = train(Start::kNew);
  EXPECT_EQ(test.at("wrong_per_sequence") + test.at("perfect_share"), 1);
  config.train.steps = 3;
  train(Start::kResume);
}

TEST_F(FileTasks, MeasuringDrawsTheSamplesOfOneBatchAtATime) {
  TaskTrainingConfig config = tiny();
  config.task = {{"own", "echo"}};
  const auto echo = std::make_shared<Echo>();
  TaskLearner learner(config, {echo, echo, echo});
  const int64_t before = echo->drawn;
  std::vector<int64_t> drawn;
  measure(learner.model(), *echo, 1, 12, 4,
          [&](int64_t, int64_t) { drawn.push_back(echo->drawn - before); });
  EXPECT_EQ(drawn, (std::vector<int64_t>{4, 8, 12}));
}

}  // namespace
}  // namespace tessera::task
