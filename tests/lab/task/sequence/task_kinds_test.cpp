#include "lab/task/sequence/task_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "lab/task/sequence/sample_arrays.h"
#include "tessera/base/safetensors.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

using test::message_of;
using testing::HasSubstr;

TEST(TaskKinds, EachHasSamplesLevelsAndHelp) {
  EXPECT_EQ(task_kinds().size(), 13u);
  for (const TaskKind& kind : task_kinds()) {
    SCOPED_TRACE(kind.name);
    const auto task = kind.make(config::Json::object());
    const auto shape = task->shape();
    EXPECT_TRUE((shape.vocabulary > 0) != (shape.input_width > 0));
    EXPECT_EQ(task->describe(0, 3)["index"], 3);
    EXPECT_EQ(task->describe(0, 3), task->describe(0, 3));
    EXPECT_NE(task->describe(0, 3), task->describe(1, 3));
    for (const Level& level : task->levels()) {
      EXPECT_GT(level.value, 0) << level.strategy;
      EXPECT_EQ(level.metric == "accuracy", shape.targets == TargetKind::kClasses);
      EXPECT_TRUE(level.metric != "accuracy" || level.value < 1) << level.strategy;
    }
    EXPECT_FALSE(kind.summary.empty());
    EXPECT_THAT(kind.fields, HasSubstr(" = "));
  }
}

TEST(TaskKinds, SettingsReachTheTask) {
  EXPECT_EQ(task_kind("copy").make({{"bits", 6}})->shape().output_width, 6);
  EXPECT_EQ(
      task_kind("relational-recall").make({{"form", "authors"}})->describe(0, 0)["items"].size(),
      3u);
}

TEST(TaskKinds, RefuseUnknownNames) {
  EXPECT_THAT(message_of<UsageError>([] { task_kind("copi"); }),
              testing::AllOf(testing::StartsWith("there is no task 'copi' here; expected one of: "
                                                 "associative-retrieval, nth-farthest, "),
                             testing::EndsWith("; did you mean 'copy'?")));
  EXPECT_THAT(message_of<UsageError>([] {
                task_kind("copy").make({{"bit", 6}});
              }),
              HasSubstr("task: unknown key 'bit'; did you mean 'bits'?"));
  EXPECT_THAT(message_of<UsageError>([] {
                task_kind("copy").make({{"bits", 0}});
              }),
              HasSubstr("task.bits is 0"));
}

TEST(TaskKinds, RefuseSizesByTheirKeys) {
  for (const TaskKind& kind : task_kinds()) {
    int refused = 0;
    const config::Json settings = kind.complete(config::Json::object());
    for (const auto& [key, value] : settings.items()) {
      if (!value.is_number_integer()) continue;
      const std::string message = message_of<UsageError>([&] { kind.make({{key, -5}}); });
      refused += message.empty() ? 0 : 1;
      EXPECT_TRUE(message.empty() || message.starts_with("task." + key)) << message;
    }
    EXPECT_GT(refused, 0) << kind.name;
  }
}

TEST(Split, SetsHaveDifferentSeeds) {
  std::set<uint64_t> seeds;
  for (uint64_t seed = 0; seed < 10; ++seed)
    for (Split split : {Split::kTraining, Split::kValidation, Split::kTest})
      seeds.insert(split_seed(seed, split));
  EXPECT_EQ(seeds.size(), 30u);
  EXPECT_EQ(split_seed(3, Split::kTest), split_seed(3, Split::kTest));
}

TEST(SampleFile, HoldsOneObjectALine) {
  const auto task = task_kind("copy").make({{"bits", 4}, {"max_length", 2}});
  std::string text;
  write_jsonl(*task, 1, 5, 3, [&](std::string_view line) { text += line; });
  EXPECT_EQ(text, task->describe(1, 5).dump() + "\n" + task->describe(1, 6).dump() + "\n" +
                      task->describe(1, 7).dump() + "\n");
  EXPECT_THROW(write_jsonl(*task, 1, 0, 0, [](std::string_view) {}), UsageError);
  EXPECT_THROW(write_jsonl(*task, 1, -1, 1, [](std::string_view) {}), UsageError);
}

TEST(SampleFile, HoldsTheTensorsOfABatch) {
  const test::TemporaryFolder folder;
  const auto task = task_kind("convex-hull").make({{"max_points", 6}});
  write_tensors(*task, 1, 5, 3, folder / "batch.safetensors");
  const auto file = safetensors::File::open(folder / "batch.safetensors");
  const auto arrays = make_arrays(*task, 1, std::vector<int64_t>{5, 6, 7}, BatchSizes::kOwn);
  const auto holds = [&](const char* name, const auto& numbers, std::vector<int64_t> shape) {
    EXPECT_EQ(file.at(name).shape, shape) << name;
    EXPECT_TRUE(std::ranges::equal(file.at(name).bytes, std::as_bytes(std::span(numbers)))) << name;
  };
  const int64_t T = arrays.steps;
  holds("inputs", arrays.inputs, {T, 3, arrays.shape.input_width});
  holds("targets", arrays.classes, {T, 3});
  holds("answers", arrays.answers, {T, 3});
  EXPECT_EQ(file.metadata().at("first_sample"), "5");
  EXPECT_THROW(write_tensors(*task, 1, 0, 0, folder / "none.safetensors"), UsageError);
}

}  // namespace
}  // namespace tessera::task
