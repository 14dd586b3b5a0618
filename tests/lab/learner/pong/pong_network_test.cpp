#include "lab/learner/pong/pong_network.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "lab/learner/pong/actor_critic.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/train/checkpoint.h"
#include "tessera/train/optimizer.h"
#include "tests/support/numerical_gradient.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

using test::message_of;
using test::relative_error;
using testing::HasSubstr;

PongAgentConfig small_config(PongMemory memory) {
  return {.channels = {3, 4},
          .kernels = {5, 3},
          .paddings = {2, 1},
          .hidden = 6,
          .memory = memory,
          .slots = 2,
          .width = 5,
          .distilled = 4,
          .outputs = 7};
}

// The authors' network with six actions: four convolutions, an LSTM of 256 beside a two-memory
// model. Theirs has two biases in the LSTM, as this one.
TEST(PongNetwork, HasTheAuthorsNumberOfParameters) {
  const PongAgentConfig config{.channels = {32, 32, 64, 64},
                               .kernels = {5, 5, 4, 3},
                               .paddings = {2, 1, 1, 1},
                               .hidden = 256,
                               .memory = PongMemory::kStm};
  EXPECT_EQ(config.features(80), 1024);
  EXPECT_EQ(PongNetwork({80, 6, config}).parameter_count(), 2'652'412);
}

TEST(PongNetwork, ThePapersConvolutionsLeave800Values) {
  EXPECT_EQ(PongAgentConfig().features(80), 800);
}

// The first convolution by hand: a frame of one bright pixel, of which maxima of 2 x 2 are left.
TEST(PongNetwork, TakesMaximaAfterEachConvolution) {
  PongAgentConfig config = small_config(PongMemory::kLstm);
  PongNetwork agent({8, 3, config}, 1);
  const at::Tensor frames = at::randn({2, 8, 8});
  const auto parameters = agent.agent()->named_parameters();
  at::Tensor x = frames.unsqueeze(1);
  for (const int64_t layer : {0, 1}) {
    const std::string name = "convolution_" + std::to_string(layer);
    x = at::conv2d(x, parameters[name + "_weight"], parameters[name + "_bias"], 1,
                   config.paddings[layer]);
    const int64_t half = x.size(2) / 2;
    x = x.view({2, -1, half, 2, half, 2}).amax(at::IntArrayRef({3, 5})).clamp_min(0);
  }
  const at::Tensor gates = at::matmul(x.flatten(1), parameters["input.weight"].t());
  const auto parts = gates.chunk(4, 1);
  const at::Tensor cell = parts[0].sigmoid() * parts[2].tanh();
  const at::Tensor hidden = parts[3].sigmoid() * cell.tanh();
  PongNetwork::State state = agent.first_state(2);
  const auto answer = agent.answer(frames, state);
  EXPECT_LT(relative_error(state.front(), hidden), 1e-5);
  EXPECT_LT(relative_error(answer.logits, at::matmul(hidden, parameters["policy.weight"].t())),
            1e-5);
  EXPECT_EQ(answer.values.sizes(), at::IntArrayRef({2}));
}

TEST(PongNetwork, RemembersAndIsRestarted) {
  for (const PongMemory memory : {PongMemory::kLstm, PongMemory::kStm}) {
    PongNetwork agent({8, 3, small_config(memory)}, 1);
    const at::Tensor first = at::randn({2, 8, 8}), second = at::randn({2, 8, 8});
    PongNetwork::State begun = agent.first_state(2), fresh_state = begun;
    agent.answer(first, begun);
    PongNetwork::State state = agent.restart(begun, at::tensor({1.0f, 0.0f}));
    EXPECT_EQ(state.size(), memory == PongMemory::kStm ? 3u : 2u);
    const auto next = agent.answer(second, begun);
    const auto fresh = agent.answer(second, fresh_state);
    EXPECT_GT(relative_error(next.values, fresh.values), 1e-4);
    const auto restarted = agent.answer(second, state);
    EXPECT_LT(relative_error(restarted.values[0], next.values[0]), 1e-6);
    EXPECT_LT(relative_error(restarted.values[1], fresh.values[1]), 1e-6);
  }
}

// The learned first item memory is reached from a sequence that was restarted.
TEST(PongNetwork, GradientsReachEveryPartInUse) {
  PongNetwork agent({8, 3, small_config(PongMemory::kStm)}, 1);
  PongNetwork::State state;
  {
    at::NoGradGuard no_grad;
    for (auto& parameter : agent.parameters()) parameter.add_(0.1 * at::randn_like(parameter));
    state = agent.first_state(2);
  }
  agent.answer(at::randn({2, 8, 8}), state);
  state = agent.restart(state, at::tensor({1.0f, 0.0f}));
  const auto second = agent.answer(at::randn({2, 8, 8}), state);
  (second.values.sum() + second.logits.square().sum()).backward();
  const std::set<std::string> unused = {"stm.cell.pattern.0.weight",   "stm.cell.pattern.0.bias",
                                        "stm.cell.attention.0.weight", "stm.cell.attention.0.bias",
                                        "stm.cell.relational.alpha1",  "stm.cell.relational.alpha2",
                                        "stm.cell.relational.initial"};
  for (const auto& item : agent.agent()->named_parameters()) {
    const bool reached = item.value().grad().defined() && item.value().grad().any().item<bool>();
    EXPECT_EQ(reached, !unused.contains(item.key())) << item.key();
  }
}

TEST(PongNetwork, EqualSeedsGiveEqualAgentsWithNearlyEvenPolicies) {
  const auto weights = [](uint64_t seed) {
    std::vector<at::Tensor> all;
    for (const auto& parameter :
         PongNetwork({8, 3, small_config(PongMemory::kStm)}, seed).parameters())
      all.push_back(parameter.flatten());
    return at::cat(all);
  };
  EXPECT_TRUE(weights(1).equal(weights(1)));
  EXPECT_FALSE(weights(1).equal(weights(2)));
  PongNetwork agent({8, 3, small_config(PongMemory::kLstm)}, 1);
  PongNetwork::State state = agent.first_state(4);
  const auto answer = agent.answer(at::randn({4, 8, 8}), state);
  EXPECT_LT((answer.logits.softmax(1) - 1.0 / 3).abs().max().item<double>(), 0.01);
}

// The shortest game there is: a bright half says which of two actions is rewarded, at once.
TEST(PongNetwork, LearnsToAnswerWhatItSees) {
  constexpr int64_t kWorkers = 16, kSteps = 4, kUpdates = 120;
  for (const PongMemory memory : {PongMemory::kLstm, PongMemory::kStm}) {
    at::manual_seed(3);
    PongNetwork agent({8, 2, small_config(memory)}, 1);
    AdamW optimizer(trainable_parameters(agent), {.weight_decay = 0, .beta2 = 0.999});
    double reward = 0;
    for (int64_t update = 0; update < kUpdates; ++update) {
      PongNetwork::State state = agent.first_state(kWorkers);
      std::vector<at::Tensor> rewards, values, log_probabilities, entropies;
      for (int64_t t = 0; t < kSteps; ++t) {
        const at::Tensor answers = at::randint(2, {kWorkers}, at::kLong);
        at::Tensor frames = at::zeros({kWorkers, 8, 8});
        for (int64_t worker = 0; worker < kWorkers; ++worker)
          frames[worker].narrow(0, 4 * answers[worker].item<int64_t>(), 4).fill_(1);
        const auto step = agent.answer(frames, state);
        const at::Tensor log_policy = step.logits.log_softmax(1);
        const at::Tensor actions = at::multinomial(log_policy.detach().exp(), 1);
        rewards.push_back((actions.squeeze(1) == answers).to(at::kFloat));
        values.push_back(step.values);
        log_probabilities.push_back(log_policy.gather(1, actions).squeeze(1));
        entropies.push_back(-(log_policy.exp() * log_policy).sum(1));
      }
      const Rollout rollout = {at::stack(rewards),   at::ones({kSteps, kWorkers}),
                               at::stack(values),    at::stack(log_probabilities),
                               at::stack(entropies), at::zeros({kWorkers})};
      ActorCriticConfig config;
      config.discount = 0;  // an action changes nothing later
      optimizer.clear_gradients();
      actor_critic_loss(rollout, config).backward();
      optimizer.step(5e-3);
      reward = rollout.rewards.mean().item<double>();
    }
    EXPECT_GT(reward, 0.9) << config::enum_name(memory);
  }
}

TEST(PongNetwork, RefusesImpossibleSettingsAndFrames) {
  const auto message = [](auto change) {
    PongAgentConfig config = small_config(PongMemory::kLstm);
    change(config);
    return message_of<UsageError>([&] { config.check(8); });
  };
  using Config = PongAgentConfig;
  EXPECT_THAT(message([](Config& c) { c.channels = {}; }), HasSubstr("have 0, 2 and 2 numbers"));
  EXPECT_THAT(message([](Config& c) { c.kernels = {5}; }), HasSubstr("have 2, 1 and 2 numbers"));
  EXPECT_THAT(message([](Config& c) { c.channels[1] = 0; }), HasSubstr("agent.channels[1] is 0"));
  EXPECT_THAT(message([](Config& c) { c.paddings[0] = 5; }),
              HasSubstr("agent.paddings[0] is 5, expected less"));
  EXPECT_THAT(message([](Config& c) { c.kernels[0] = 15; }), HasSubstr("nothing is left"));
  EXPECT_THAT(message([](Config& c) { c.hidden = 0; }), HasSubstr("hidden is 0"));
  EXPECT_THAT(message([](Config& c) { c.slots = 0; }), HasSubstr("slots is 0"));
  EXPECT_EQ(message([](Config&) {}), "");
  PongNetwork agent({8, 3, small_config(PongMemory::kLstm)}, 1);
  PongNetwork::State of_two = agent.first_state(2), of_three = agent.first_state(3);
  EXPECT_THROW(agent.answer(at::zeros({2, 9, 8}), of_two), UsageError);
  EXPECT_THROW(agent.answer(at::zeros({2, 8, 8}), of_three), UsageError);
}

}  // namespace
}  // namespace tessera::task
