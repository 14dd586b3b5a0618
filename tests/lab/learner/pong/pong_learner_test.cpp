#include "lab/learner/pong/pong_learner.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/train/learner.h"
#include "tests/model/model_checks.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

using test::message_of;
using test::TemporaryFolder;
using testing::HasSubstr;

PongTrainingConfig tiny_config(PongMemory memory) {
  PongTrainingConfig config;
  config.environment.size = 20;
  config.environment.game = {.points = 1, .opponent_skill = 0.2};
  config.environment.longest_game = 60;
  config.agent.channels = {2};
  config.agent.kernels = {5};
  config.agent.paddings = {2};
  config.agent.hidden = 4;
  config.agent.memory = memory;
  config.agent.slots = 1;
  config.agent.width = 3;
  config.agent.distilled = 2;
  config.agent.outputs = 3;
  config.actor_critic.rollout = 6;
  config.train.steps = 14;
  config.train.batch = 3;
  config.train.learning_rate = config.train.min_learning_rate = 1e-2;
  config.train.evaluate_batches = 2;
  config.train.checkpoint_every = 5;
  return config;
}

/// An agent after its training.
struct TrainedPongAgent {
  std::shared_ptr<PongNetwork> agent;
  Trained trained;
  std::vector<PlayedGame> games;
};

TrainedPongAgent train(const PongTrainingConfig& config, const std::filesystem::path& folder,
                       Start start = Start::kNew) {
  PongLearner learner(config);
  const Trained trained = tessera::train(learner, RunFolder(folder, start), nullptr, "");
  return {learner.network(), trained, games_of_training(folder)};
}

bool equal_games(const std::vector<PlayedGame>& a, const std::vector<PlayedGame>& b) {
  return std::ranges::equal(a, b, [](const PlayedGame& x, const PlayedGame& y) {
    return x.reward == y.reward && x.actions == y.actions;
  });
}

TEST(PongTraining, AStoppedRunEndsAsAnUninterruptedOne) {
  for (const PongMemory memory : {PongMemory::kLstm, PongMemory::kStm}) {
    const TemporaryFolder folder;
    PongTrainingConfig config = tiny_config(memory);
    config.train.evaluate_every = 7;
    const TrainedPongAgent whole = train(config, folder / "whole");
    EXPECT_GT(whole.games.size(), 2u);
    config.train.steps = 7;  // not a step with a checkpoint of its own
    train(config, folder / "pieces");
    config.train.steps = 14;
    const TrainedPongAgent pieces = train(config, folder / "pieces", Start::kResume);
    test::expect_equal_parameters(*pieces.agent, *whole.agent);
    EXPECT_TRUE(equal_games(pieces.games, whole.games));
    EXPECT_EQ(pieces.trained.validation, whole.trained.validation);
  }
}

TEST(PongTraining, TheModelDirectoryHoldsTheAgent) {
  for (const PongMemory memory : {PongMemory::kLstm, PongMemory::kStm}) {
    const TemporaryFolder folder;
    const TrainedPongAgent trained = train(tiny_config(memory), folder / "run");
    const auto loaded = load_sequence_model(folder / "run/model");
    auto& network = dynamic_cast<PongNetwork&>(*loaded);
    test::expect_equal_parameters(network, *trained.agent);
    const at::Tensor frames = at::arange(2 * 3 * 400, at::kFloat).sin().view({2, 3, 400});
    const at::Tensor whole = network.forward(frames);
    EXPECT_EQ(whole.sizes(), at::IntArrayRef({2, 3, 7}));  // six actions and the value
    const auto first = network.read(frames.slice(1, 0, 2), network.empty_state());
    const auto last = network.read(frames.slice(1, 2), SequenceState(first.state));
    EXPECT_TRUE(at::cat({first.outputs, last.outputs}, 1).allclose(whole));
    EXPECT_TRUE(network.forward(frames, {}, 2).equal(whole.slice(1, 2)));
    EXPECT_EQ(network.read(frames.slice(1, 0, 0), network.empty_state()).outputs.size(1), 0);
    const auto restored =
        network.state_from(test::through_a_file(first.state), network.empty_state());
    EXPECT_TRUE(
        network.read(frames.slice(1, 2), SequenceState(restored)).outputs.equal(last.outputs));
    EXPECT_THROW(network.forward(at::zeros({2, 3, 399})), UsageError);
    EXPECT_THROW(network.read(frames.slice(0, 0, 1), SequenceState(first.state)), UsageError);
  }
}

TEST(PongTraining, ADamagedModelIsRefusedByItsSizes) {
  const auto refusal = [](const PongNetworkConfig& config) {
    return message_of<UsageError>([&] { PongNetwork(config, {}, at::kMeta); });
  };
  EXPECT_EQ(refusal({}), "");
  for (const int64_t wrong : {int64_t{0}, int64_t{-1}, INT64_MAX}) {
    EXPECT_THAT(refusal({.size = wrong}), HasSubstr("model.size is"));
    EXPECT_THAT(refusal({.actions = wrong}), HasSubstr("model.actions is"));
  }
  PongNetworkConfig wide;
  wide.agent.kernels[0] = INT64_MAX;
  wide.agent.paddings[0] = INT64_MAX - 1;
  EXPECT_THAT(refusal(wide), HasSubstr("model.agent.kernels[0] is 9223372036854775807"));
}

TEST(PongTraining, AnAgentRefusesTheStateOfAnother) {
  PongNetwork lstm({20, 6, tiny_config(PongMemory::kLstm).agent});
  PongNetwork stm({20, 6, tiny_config(PongMemory::kStm).agent});
  const at::Tensor frames = at::zeros({2, 1, 400});
  SequenceState state = lstm.read(frames, lstm.empty_state()).state;
  EXPECT_THAT(message_of<UsageError>([&] { stm.read(frames, std::move(state)); }),
              HasSubstr("another kind of model"));
  EXPECT_EQ(state.rows(), 2);
}

TEST(PongGames, TellWhenAnAgentWasFirstAhead) {
  const std::vector<PlayedGame> games = {{-1}, {1}, {-2}, {3}, {-1}, {2}};
  EXPECT_EQ(games_until_ahead(games, 1), 2u);
  EXPECT_EQ(games_until_ahead(games, 2), 4u);
  EXPECT_EQ(games_until_ahead(games, 3), 4u);
  EXPECT_EQ(games_until_ahead(games, 7), std::nullopt);
}

TEST(PongGames, AReplayContinuesAsTheGamesThatWereCut) {
  PongEnvironmentConfig config;
  config.size = 16;
  config.game.points = 1;
  PongGames games(config, 3, 7);
  int64_t action = 0;
  const auto play = [&](PongGames& which, int64_t actions) {
    for (int64_t i = 0; i < actions; ++i, ++action)
      which.act({action % 6, (action / 2) % 6, (action / 3) % 6});
  };
  play(games, 70);
  PongGames replayed(config, 3, 7);
  const auto expect_equal_games = [&] {
    for (size_t worker = 0; worker < 3; ++worker) {
      EXPECT_EQ(replayed.workers()[worker].game, games.workers()[worker].game);
      EXPECT_EQ(replayed.workers()[worker].reward, games.workers()[worker].reward);
      EXPECT_EQ(replayed.workers()[worker].actions, games.workers()[worker].actions);
    }
  };
  for (size_t worker = 0; worker < 3; ++worker)
    replayed.replay(worker, games.workers()[worker].game, games.workers()[worker].actions);
  expect_equal_games();
  EXPECT_GT(games.workers()[0].game, 0);
  const int64_t now = action;
  play(games, 30);
  action = now;
  play(replayed, 30);
  expect_equal_games();
  for (size_t worker = 0; worker < 3; ++worker)
    replayed.workers()[worker].normaliser = games.workers()[worker].normaliser;
  EXPECT_TRUE(replayed.observe(true).equal(games.observe(true)));
}

TEST(PongTraining, RefusesImpossibleSettings) {
  const auto message = [](auto change) {
    PongTrainingConfig config = tiny_config(PongMemory::kLstm);
    change(config);
    return message_of<UsageError>([&] { config.check(); });
  };
  using Config = PongTrainingConfig;
  EXPECT_THAT(message([](Config& c) { c.train.accumulation = 2; }), HasSubstr("accumulation is 2"));
  EXPECT_THAT(message([](Config& c) { c.train.evaluate_batches = 0; }),
              HasSubstr("evaluate_batches is 0"));
  EXPECT_THAT(message([](Config& c) { c.train.batch = 0; }), HasSubstr("train.batch is 0"));
  EXPECT_THAT(message([](Config& c) { c.train.sample_every = 3; }),
              HasSubstr("train.sample_every is 3"));
  EXPECT_THAT(message([](Config& c) { c.environment.size = 7; }), HasSubstr("size is 7"));
  EXPECT_THAT(message([](Config& c) { c.agent.hidden = 0; }), HasSubstr("hidden is 0"));
  EXPECT_THAT(message([](Config& c) { c.actor_critic.rollout = 0; }), HasSubstr("rollout is 0"));
  EXPECT_EQ(message([](Config&) {}), "");
}

}  // namespace
}  // namespace tessera::task
