#include "tessera/train/checkpoint.h"

#include <ATen/core/grad_mode.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tests/support/largest_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/tiny_training.h"

namespace tessera {
namespace {

using test::message_of;
using test::TemporaryFolder;
using test::TinyNetwork;
using test::weights_of;
using testing::HasSubstr;

struct CheckpointTest : testing::Test {
  TemporaryFolder folder;
  TinyNetwork network;
  AdamW optimizer{trainable_parameters(network), {}};
  Checkpoints checkpoints{folder.path(), 2};
  std::vector<std::string> warnings;

  std::filesystem::path save(int64_t step, std::optional<double> validation_loss = {}) {
    at::NoGradGuard no_grad;
    network.first.fill_(static_cast<float>(step));
    optimizer.state()[0].second.fill_(static_cast<float>(10 * step));
    return checkpoints.save(network, optimizer,
                            {step, 7, "digest", 1.5, validation_loss, validation_loss});
  }
  std::optional<Checkpoint> latest() {
    return checkpoints.latest([&](const std::string& text) { warnings.push_back(text); });
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& path : checkpoints.paths()) all.push_back(path.filename().native());
    return all;
  }
};

TEST_F(CheckpointTest, HoldsTensorsMomentsAndState) {
  const auto path = save(1000, 2.25);
  EXPECT_EQ(path, folder / "step-00001000.safetensors");
  const at::Tensor weights = weights_of(network);
  const Checkpoint checkpoint = Checkpoint::load(path);
  EXPECT_EQ(checkpoint.state.step, 1000);
  EXPECT_EQ(checkpoint.state.seed, 7u);
  EXPECT_EQ(checkpoint.state.digest, "digest");
  EXPECT_EQ(checkpoint.state.elapsed_seconds, 1.5);
  EXPECT_EQ(checkpoint.state.validation_loss, 2.25);

  TinyNetwork other;
  AdamW other_optimizer(trainable_parameters(other), {});
  checkpoint.restore(other, other_optimizer);
  EXPECT_TRUE(weights_of(other).equal(weights));
  EXPECT_EQ(other_optimizer.steps(), 1000);
  EXPECT_TRUE(other_optimizer.state()[0].second.equal(optimizer.state()[0].second));

  TinyNetwork weights_only;
  checkpoint.restore(weights_only);
  EXPECT_TRUE(weights_of(weights_only).equal(weights));
}

TEST_F(CheckpointTest, KeepsTheLatestAndTheBest) {
  EXPECT_FALSE(latest().has_value());
  save(1, 3.0);
  save(2, 1.0);
  save(3, 2.0);
  save(4);
  save(5, 4.0);
  EXPECT_THAT(names(),
              testing::ElementsAre("step-00000002.safetensors", "step-00000004.safetensors",
                                   "step-00000005.safetensors"));
  EXPECT_EQ(checkpoints.best_path(), folder / "step-00000002.safetensors");
  EXPECT_EQ(latest()->state.step, 5);
}

TEST_F(CheckpointTest, AStepBeyondEightDigitsIsStillTheLatest) {
  save(99999999);
  save(100000000);
  EXPECT_EQ(latest()->state.step, 100000000);
}

TEST_F(CheckpointTest, TheNextBestIsTakenWhereTheBestIsDamaged) {
  save(1, 2.0);
  save(2, 1.0);
  save(3, 3.0);
  test::damage(folder / "step-00000002.safetensors");
  const auto best = [&] {
    return checkpoints.best([&](const std::string& text) { warnings.push_back(text); });
  };
  EXPECT_EQ(best()->state.step, 3) << "the first one was removed";
  EXPECT_THAT(warnings, testing::ElementsAre(HasSubstr("step-00000002.safetensors: is damaged")));
  EXPECT_THAT(names(), testing::ElementsAre("step-00000003.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(folder / "step-00000002.safetensors.damaged"));
  test::damage(folder / "step-00000003.safetensors");
  EXPECT_FALSE(best().has_value());
}

TEST_F(CheckpointTest, DamagedOnesAreSetAside) {
  save(1);
  save(2);
  test::damage(folder / "step-00000002.safetensors");
  EXPECT_EQ(latest()->state.step, 1);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("step-00000002.safetensors: is damaged"));
  EXPECT_TRUE(std::filesystem::exists(folder / "step-00000002.safetensors.damaged"));
  save(3);
  EXPECT_THAT(names(),
              testing::ElementsAre("step-00000001.safetensors", "step-00000003.safetensors"));
}

TEST_F(CheckpointTest, OnesWithAStateThatNoTrainingHasAreSetAside) {
  save(1, 3.0);
  const auto path = save(2);
  const TensorFile good = TensorFile::load(path);
  const auto refused = [&](const config::Json& state) {
    save_with_checksum(path, NamedTensors(good.tensors.begin(), good.tensors.end()),
                       {{"training", state.dump()}}, state.dump());
    return message_of<DataError>([&] { Checkpoint::load(path); });
  };
  const auto refusal = [&](const std::string& name, const std::string& value) {
    auto state = config::Json::parse(good.metadata.at("training"));
    state[name] = config::Json::parse(value);
    return refused(state);
  };
  for (const char* step : {"1", "4611686018427387904"})
    EXPECT_THAT(refusal("step", step), HasSubstr("expected that of the file's name"));
  for (const char* step : {"-5", "1e300", "2.0", "18446744073709551614"})
    EXPECT_THAT(refusal("step", step), HasSubstr("expected a whole number from 0 on"));
  EXPECT_THAT(refusal("elapsed_seconds", "-1e3"),
              HasSubstr("metadata training.elapsed_seconds is -1000.0, expected a number"));
  for (const char* evaluations :
       {"-1", "0.5", "999999999999999999", "1000000000000000000", "9223372036854775807"})
    EXPECT_THAT(refusal("evaluations_since_best", evaluations), HasSubstr(evaluations));
  for (const char* key : {"step", "digest", "validation_loss"}) {
    auto state = config::Json::parse(good.metadata.at("training"));
    state.erase(key);
    EXPECT_THAT(refused(state), HasSubstr(fmt::format("metadata training.{} is missing", key)));
  }
  EXPECT_EQ(latest()->state.step, 1);
}

TEST_F(CheckpointTest, TheBestIsOneOfItsStep) {
  save(1, 3.0);
  std::filesystem::copy(save(2, 1.0), folder / "step-00000003.safetensors");
  std::filesystem::remove(folder / "step-00000002.safetensors");
  EXPECT_EQ(checkpoints.best_path(), folder / "step-00000001.safetensors");
}

TEST_F(CheckpointTest, EveryTruncationIsNoticed) {
  const std::filesystem::path path = save(1);
  const std::string bytes = read_file(path);
  for (size_t size = 0; size < bytes.size(); size += 37) {
    write_file(path, bytes.substr(0, size));
    EXPECT_THROW(Checkpoint::load(path), DataError) << size;
  }
  write_file(path, bytes);
  EXPECT_NO_THROW(Checkpoint::load(path));
}

TEST_F(CheckpointTest, WithAllDamagedNothingIsTakenAndNothingMoved) {
  write_file(save(1), "rubbish");
  EXPECT_THAT(message_of<DataError>([&] { latest(); }), HasSubstr("none of its 1 checkpoints"));
  EXPECT_EQ(names().size(), 1u);
}

TEST_F(CheckpointTest, AnotherModelIsNamedWithBothShapesAndLeftAsItWas) {
  const Checkpoint checkpoint = Checkpoint::load(save(3));
  TinyNetwork wider(7);
  AdamW wider_optimizer(trainable_parameters(wider), {});
  const at::Tensor before = weights_of(wider);
  EXPECT_THAT(message_of<DataError>([&] { checkpoint.restore(wider, wider_optimizer); }),
              HasSubstr("tensor 'first' has shape [6, 4], expected [7, 4]"));
  EXPECT_TRUE(weights_of(wider).equal(before));

  TinyNetwork more;
  more.register_parameter("third", at::ones({2}));
  AdamW more_optimizer(trainable_parameters(more), {});
  EXPECT_THAT(message_of<DataError>([&] { checkpoint.restore(more, more_optimizer); }),
              HasSubstr("has no tensor 'third', expected one of shape [2]"));

  struct : torch::nn::Module {
    at::Tensor first = register_parameter("first", at::ones({6, 4}));
  } less;
  EXPECT_THAT(message_of<DataError>([&] { checkpoint.restore(less); }),
              HasSubstr("which this model does not have"));

  TinyNetwork in_double;
  in_double.to(at::kDouble);
  EXPECT_THAT(message_of<DataError>([&] { checkpoint.restore(in_double); }),
              HasSubstr("has type Float, expected Double"));
}

TEST_F(CheckpointTest, OtherFilesAreNone) {
  save_tensors(folder / "step-00000009.safetensors", {{"first", network.first}});
  EXPECT_THAT(
      message_of<DataError>([&] { Checkpoint::load(folder / "step-00000009.safetensors"); }),
      HasSubstr("is not a training checkpoint"));
  write_file(folder / "step-1.safetensors", "");
  write_file(folder / "step-0000000x.safetensors", "");
  EXPECT_EQ(names().size(), 1u);
  EXPECT_THROW(Checkpoints(folder.path(), 0), UsageError);
}

TEST_F(CheckpointTest, AFullDiskLeavesTheEarlierOne) {
  save(1);
  EXPECT_THAT(message_of<SystemError>([&] {
                const test::LargestFile full(512);
                save(2);
              }),
              HasSubstr("step-00000002.safetensors: cannot write"));
  EXPECT_THAT(names(), testing::ElementsAre("step-00000001.safetensors"));
  EXPECT_EQ(latest()->state.step, 1);
}

}  // namespace
}  // namespace tessera
