#include "lab/learner/pong/actor_critic.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <vector>

#include "tessera/tensor/check.h"

namespace tessera {
namespace {

/// x_t = terms_t + factors_t x_{t+1} from the last step backwards: [T, W].
at::Tensor sum_backwards(const at::Tensor& terms, const at::Tensor& factors, at::Tensor last) {
  std::vector<at::Tensor> sums(terms.size(0));
  for (int64_t t = terms.size(0) - 1; t >= 0; --t) sums[t] = last = terms[t] + factors[t] * last;
  return at::stack(sums);
}

void check(const Rollout& rollout) {
  check_shape(rollout.rewards, {-1, -1}, "actor_critic_loss: rewards");
  const int64_t T = rollout.rewards.size(0), W = rollout.rewards.size(1);
  TESSERA_CHECK(T > 0, "actor_critic_loss: the rollout has no step");
  check_shape(rollout.continues, {T, W}, "actor_critic_loss: continues");
  check_shape(rollout.values, {T, W}, "actor_critic_loss: values");
  check_shape(rollout.log_probabilities, {T, W}, "actor_critic_loss: log_probabilities");
  check_shape(rollout.entropies, {T, W}, "actor_critic_loss: entropies");
  check_shape(rollout.last_values, {W}, "actor_critic_loss: last_values");
}

}  // namespace

at::Tensor discounted_returns(const Rollout& rollout, double discount) {
  at::NoGradGuard no_grad;
  return sum_backwards(rollout.rewards, discount * rollout.continues, rollout.last_values);
}

at::Tensor generalised_advantages(const Rollout& rollout, double discount, double trace) {
  at::NoGradGuard no_grad;
  const at::Tensor next =
      at::cat({rollout.values.slice(0, 1), rollout.last_values.unsqueeze(0)});  // V_{t+1}
  const at::Tensor errors = rollout.rewards + discount * rollout.continues * next - rollout.values;
  return sum_backwards(errors, discount * trace * rollout.continues,
                       at::zeros_like(rollout.last_values));
}

at::Tensor actor_critic_loss(const Rollout& rollout, const ActorCriticConfig& config) {
  check(rollout);
  const at::Tensor returns = discounted_returns(rollout, config.discount);
  const at::Tensor advantages = generalised_advantages(rollout, config.discount, config.trace);
  const at::Tensor loss = -rollout.log_probabilities * advantages -
                          config.entropy * rollout.entropies +
                          config.value * 0.5 * (returns - rollout.values).square();
  return loss.sum(0).mean();
}

}  // namespace tessera
