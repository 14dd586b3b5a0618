#include "lab/learner/pong/actor_critic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tessera/base/error.h"
#include "tests/support/numerical_gradient.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::message_of;
using test::relative_error;
using testing::HasSubstr;

at::Tensor column(std::vector<double> values) {
  return at::tensor(values, at::kDouble).unsqueeze(1);
}

/// Random rollouts; `ends`: the share of steps that end an episode.
Rollout random_rollout(int64_t T, int64_t W, double ends) {
  at::manual_seed(4);
  Rollout rollout;
  rollout.rewards = at::randn({T, W}, at::kDouble);
  rollout.continues = (at::rand({T, W}, at::kDouble) >= ends).to(at::kDouble);
  rollout.values = at::randn({T, W}, at::kDouble);
  rollout.log_probabilities = -at::rand({T, W}, at::kDouble);
  rollout.entropies = at::rand({T, W}, at::kDouble);
  rollout.last_values = at::randn({W}, at::kDouble);
  return rollout;
}

// γ = 1/2, λ = 1/2; rewards 1, 0, 2; the episode ends with the second step.
TEST(ActorCritic, ReturnsAndAdvantagesByHand) {
  Rollout rollout;
  rollout.rewards = column({1, 0, 2});
  rollout.continues = column({1, 0, 1});
  rollout.values = column({4, 6, 8});
  rollout.last_values = at::tensor({10.0}, at::kDouble);
  // R: 2 + 10/2 = 7; 0 (the end); 1 + 0/2 = 1.
  EXPECT_TRUE(discounted_returns(rollout, 0.5).equal(column({1, 0, 7})));
  // δ: 1 + 6/2 - 4 = 0; 0 - 6 = -6; 2 + 10/2 - 8 = -1. A: -1; -6; 0 + (-6)/4 = -1.5.
  EXPECT_TRUE(generalised_advantages(rollout, 0.5, 0.5).equal(column({-1.5, -6, -1})));
  rollout.log_probabilities = column({-1, -2, -3}).set_requires_grad(true);
  rollout.entropies = column({0.5, 0.25, 1});
  // 1 (-1.5) + 2 (-6) + 3 (-1) = -16.5; entropies 1.75 / 10; values (9 + 36 + 1) / 2 / 4.
  const ActorCriticConfig config = {
      .rollout = 3, .discount = 0.5, .trace = 0.5, .entropy = 0.1, .value = 0.25};
  EXPECT_NEAR(actor_critic_loss(rollout, config).item<double>(), -16.5 - 0.175 + 5.75, 1e-12);
}

// Against sums over all later steps, which know no recursion.
TEST(ActorCritic, AreTheSumsOverLaterSteps) {
  const double discount = 0.9, trace = 0.7;
  for (const double ends : {0.0, 0.3, 1.0}) {
    const Rollout rollout = random_rollout(7, 3, ends);
    const at::Tensor returns = discounted_returns(rollout, discount);
    const at::Tensor advantages = generalised_advantages(rollout, discount, trace);
    const auto number = [](const at::Tensor& x, int64_t t, int64_t w) {
      return x[t][w].item<double>();
    };
    for (int64_t w = 0; w < 3; ++w)
      for (int64_t t = 0; t < 7; ++t) {
        double expected_return = 0, expected_advantage = 0, alive = 1;
        for (int64_t k = t; k < 7; ++k) {
          const double reward = number(rollout.rewards, k, w);
          const double next_alive = alive * number(rollout.continues, k, w);
          const double next_value =
              k == 6 ? rollout.last_values[w].item<double>() : number(rollout.values, k + 1, w);
          const double error =
              alive * (reward - number(rollout.values, k, w)) + next_alive * discount * next_value;
          const double steps = static_cast<double>(k - t);
          expected_return += alive * std::pow(discount, steps) * reward;
          expected_advantage += std::pow(discount * trace, steps) * error;
          alive = next_alive;
        }
        expected_return += alive * std::pow(discount, static_cast<double>(7 - t)) *
                           rollout.last_values[w].item<double>();
        EXPECT_NEAR(number(returns, t, w), expected_return, 1e-12);
        EXPECT_NEAR(number(advantages, t, w), expected_advantage, 1e-12);
      }
  }
}

// With λ = 1 the advantage is the return less the value; with λ = 0 the error of one step.
TEST(ActorCritic, TheTraceBlendsShortAndLongAdvantages) {
  const Rollout rollout = random_rollout(6, 2, 0.2);
  const at::Tensor returns = discounted_returns(rollout, 0.95);
  EXPECT_LT(relative_error(generalised_advantages(rollout, 0.95, 1), returns - rollout.values),
            1e-12);
  const at::Tensor next = at::cat({rollout.values.slice(0, 1), rollout.last_values.unsqueeze(0)});
  EXPECT_LT(relative_error(generalised_advantages(rollout, 0.95, 0),
                           rollout.rewards + 0.95 * rollout.continues * next - rollout.values),
            1e-12);
}

// Advantages and returns count as constants: the gradients are those of the three terms alone.
TEST(ActorCritic, GradientsStopAtAdvantagesAndReturns) {
  Rollout rollout = random_rollout(4, 3, 0.2);
  for (auto* part : {&rollout.values, &rollout.log_probabilities, &rollout.entropies})
    part->set_requires_grad(true);
  const ActorCriticConfig config;
  actor_critic_loss(rollout, config).backward();
  const at::Tensor returns = discounted_returns(rollout, config.discount);
  const at::Tensor advantages = generalised_advantages(rollout, config.discount, config.trace);
  EXPECT_LT(relative_error(rollout.log_probabilities.grad(), -advantages / 3), 1e-12);
  EXPECT_LT(relative_error(rollout.values.grad(), 0.5 * (rollout.values - returns) / 3), 1e-12);
  EXPECT_LT(relative_error(rollout.entropies.grad(), at::full({4, 3}, -0.01 / 3, at::kDouble)),
            1e-12);
}

TEST(ActorCritic, OneStepAndNone) {
  const Rollout one = random_rollout(1, 2, 0);
  EXPECT_LT(relative_error(discounted_returns(one, 0.5), one.rewards + 0.5 * one.last_values),
            1e-12);
  EXPECT_THROW(actor_critic_loss(random_rollout(0, 2, 0), {}), UsageError);
}

TEST(ActorCritic, RefusesPartsThatDoNotFit) {
  const auto refuses = [](auto change) {
    Rollout rollout = random_rollout(3, 2, 0);
    change(rollout);
    EXPECT_THROW(actor_critic_loss(rollout, {}), UsageError);
  };
  const at::Tensor wrong = at::zeros({2, 2}, at::kDouble);
  refuses([&](Rollout& r) { r.rewards = wrong; });
  refuses([&](Rollout& r) { r.continues = wrong; });
  refuses([&](Rollout& r) { r.values = wrong; });
  refuses([&](Rollout& r) { r.log_probabilities = wrong; });
  refuses([&](Rollout& r) { r.entropies = wrong; });
  refuses([&](Rollout& r) { r.last_values = at::zeros({3}, at::kDouble); });
  refuses([&](Rollout& r) { r.values = at::Tensor(); });
}

TEST(ActorCritic, RefusesImpossibleSettings) {
  const auto message = [](const ActorCriticConfig& config) {
    return message_of<UsageError>([&] { config::check_demands(config, "actor_critic"); });
  };
  EXPECT_THAT(message({.rollout = 0}), HasSubstr("actor_critic.rollout is 0"));
  EXPECT_THAT(message({.discount = 1.5}), HasSubstr("actor_critic.discount is 1.5"));
  EXPECT_THAT(message({.trace = -1}), HasSubstr("actor_critic.trace is -1"));
  EXPECT_THAT(message({.entropy = NAN}), HasSubstr("actor_critic.entropy is nan"));
  EXPECT_THAT(message({.value = -0.5}), HasSubstr("actor_critic.value is -0.5"));
  EXPECT_EQ(message({}), "");
}

}  // namespace
}  // namespace tessera
