#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tessera/base/config.h"

namespace tessera {

/// Advantage actor-critic (Mnih et al. 2016) with generalised advantage estimation (Schulman et al.
/// 2016). Defaults: Le et al. 2020, appendix I, and its code.
struct ActorCriticConfig {
  int64_t rollout = 20;
  double discount = 0.99;
  double trace = 0.92;
  double entropy = 0.01;
  double value = 0.5;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("rollout", rollout, "steps of each worker between two updates", config::at_least(1));
    field("discount", discount, "weight of a reward one step later (γ)", config::between(0, 1));
    field("trace", trace, "weight of advantages one step longer (λ)", config::between(0, 1));
    field("entropy", entropy, "weight of the policy's entropy, which is subtracted from the loss",
          config::at_least(0));
    field("value", value, "weight of the squared error of the values", config::at_least(0));
  }
};

/// What W workers did in T steps, and what the network said of it. [T, W] but for the last.
struct Rollout {
  at::Tensor rewards;    ///< of each step
  at::Tensor continues;  ///< 0 where an episode ended with the step, else 1
  at::Tensor values;     ///< of the states before the steps; with gradients, as the next two
  at::Tensor log_probabilities;  ///< of the actions that were chosen
  at::Tensor entropies;          ///< of the policies they were drawn from, in nats
  at::Tensor last_values;        ///< [W], of the states after the last step
};

/// R_t = r_t + γ c_t R_{t+1}, where c is `continues` and R_T = last_values: [T, W], no gradient.
at::Tensor discounted_returns(const Rollout& rollout, double discount);

/// A_t = δ_t + γ λ c_t A_{t+1} with δ_t = r_t + γ c_t V_{t+1} - V_t and A_T = 0 (Schulman et al.
/// 2016, eq. 16): [T, W], no gradient.
at::Tensor generalised_advantages(const Rollout& rollout, double discount, double trace);

/// The mean over workers of the sum over steps of
///     -log π(a_t) A_t - entropy H_t + value (R_t - V_t)² / 2,
/// a scalar. Throws UsageError where the shapes do not fit or there is no step.
at::Tensor actor_critic_loss(const Rollout& rollout, const ActorCriticConfig& config);

}  // namespace tessera
