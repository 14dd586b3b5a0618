#include "lab/learner/pong/pong_workers.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "tessera/base/interrupt.h"

namespace tessera::task {
namespace {

/// How each game is seeded; two games of one program never share a seed by their numbers.
uint64_t game_seed(uint64_t seed, size_t worker, int64_t game) {
  return Philox(seed, worker).number(game);
}

std::vector<int64_t> numbers(const at::Tensor& tensor) {
  const at::Tensor whole = tensor.to(at::kLong).contiguous();
  return {whole.data_ptr<int64_t>(), whole.data_ptr<int64_t>() + whole.numel()};
}

at::Tensor drawn_actions(const at::Tensor& logits) {
  return at::multinomial(logits.detach().softmax(1), 1).squeeze(1);
}

}  // namespace

double mean_reward(std::span<const PlayedGame> games) {
  double sum = 0;
  for (const PlayedGame& game : games) sum += static_cast<double>(game.reward);
  return sum / static_cast<double>(games.size());
}

std::optional<size_t> games_until_ahead(std::span<const PlayedGame> games, size_t width) {
  for (size_t played = width; played <= games.size(); ++played)
    if (mean_reward(games.subspan(played - width, width)) > 0) return played;
  return {};
}

PongGames::PongGames(const PongEnvironmentConfig& config, int64_t workers, uint64_t seed)
    : config_(config), seed_(seed) {
  for (size_t worker = 0; worker < static_cast<size_t>(workers); ++worker)
    workers_.push_back(begun(worker, 0, {}));
}

PongGames::Worker PongGames::begun(size_t worker, int64_t game,
                                   const FrameNormaliser& normaliser) const {
  return {PongEnvironment(config_, game_seed(seed_, worker, game)), game, normaliser};
}

void PongGames::replay(size_t worker, int64_t game, const std::vector<int64_t>& actions) {
  Worker& playing = workers_[worker];
  playing = begun(worker, game, playing.normaliser);
  for (const int64_t action : actions) playing.reward += playing.environment.act(action).reward;
  playing.actions = actions;
}

PongGames::Outcome PongGames::act(const std::vector<int64_t>& actions) {
  Outcome outcome;
  for (size_t worker = 0; worker < actions.size(); ++worker) {
    Worker& playing = workers_[worker];
    const auto [reward, ended] = playing.environment.act(actions[worker]);
    playing.reward += reward;
    playing.actions.push_back(actions[worker]);
    outcome.rewards.push_back(reward);
    outcome.has_ended.push_back(ended);
    if (!ended) continue;
    outcome.ended.push_back({playing.reward, std::ssize(playing.actions)});
    playing = begun(worker, playing.game + 1, playing.normaliser);
  }
  return outcome;
}

at::Tensor PongGames::observe(bool take) {
  const int64_t size = config_.size, W = std::ssize(workers_);
  const at::Tensor frames = at::empty({W, size, size});
  float* const pixels = frames.data_ptr<float>();
#pragma omp parallel for schedule(static)
  for (int64_t worker = 0; worker < W; ++worker) {
    Worker& playing = workers_[worker];
    const std::vector<float> seen = playing.environment.observation();
    if (take) playing.normaliser.take(seen);
    playing.normaliser.apply(seen, {pixels + worker * size * size, seen.size()});
  }
  return frames;
}

PongWorkersImpl::PongWorkersImpl(const PongEnvironmentConfig& environment,
                                 const PongAgentConfig& agent, int64_t workers, uint64_t seed)
    : environment_(environment), workers_(workers), seed_(seed) {
  environment.check();
  const int64_t W = workers, actions = std::ssize(moves_of(environment.actions));
  network =
      std::make_shared<PongNetwork>(PongNetworkConfig{environment.size, actions, agent}, seed);
  register_module("agent", network->agent());
  games_ = register_buffer("games", at::zeros({W}, at::kLong));
  acted_ = register_buffer("acted", at::zeros({W}, at::kLong));
  actions_ = register_buffer("actions", at::zeros({W, environment.longest_game}, at::kByte));
  normalisers_ = register_buffer("normalisers", at::zeros({W, 3}, at::kDouble));
  at::NoGradGuard no_grad;
  const char* const kParts[] = {"hidden", "cell", "item"};
  for (const at::Tensor& part : network->first_state(W))
    state_.push_back(register_buffer(kParts[state_.size()], part.clone()));
  begun_ = register_buffer("begun", at::zeros({1}, at::kLong));
}

/// The games as the buffers say.
void PongWorkersImpl::restore() {
  playing_.emplace(environment_, workers_, seed_);
  const double* saved = normalisers_.data_ptr<double>();
  for (int64_t worker = 0; worker < workers_; ++worker) {
    const size_t index = worker;
    playing_->replay(index, games_[worker].item<int64_t>(),
                     numbers(actions_[worker].slice(0, 0, acted_[worker].item<int64_t>())));
    auto& [mean, deviation, frames] = playing_->workers()[index].normaliser;
    mean = *saved++;
    deviation = *saved++;
    frames = static_cast<int64_t>(*saved++);
  }
}

void PongWorkersImpl::store(const PongNetwork::State& state) {
  at::NoGradGuard no_grad;
  for (size_t part = 0; part < state.size(); ++part) state_[part].copy_(state[part]);
  double* saved = normalisers_.data_ptr<double>();
  for (int64_t worker = 0; worker < workers_; ++worker) {
    const PongGames::Worker& playing = playing_->workers()[worker];
    games_[worker] = playing.game;
    acted_[worker] = std::ssize(playing.actions);
    std::copy(playing.actions.begin(), playing.actions.end(), actions_[worker].data_ptr<uint8_t>());
    *saved++ = playing.normaliser.mean;
    *saved++ = playing.normaliser.deviation;
    *saved++ = static_cast<double>(playing.normaliser.frames);
  }
  begun_.fill_(1);
}

at::Tensor PongWorkersImpl::loss(const ActorCriticConfig& config) {
  const bool begins = begun_.item<int64_t>() == 0;
  if (!playing_) restore();
  PongNetwork::State state;
  for (const at::Tensor& part : state_) state.push_back(part.clone());
  if (begins) state = network->first_state(workers_);
  at::Tensor frames = playing_->observe(/*take=*/begins);
  std::vector<at::Tensor> rewards, continues, values, log_probabilities, entropies;
  for (int64_t t = 0; t < config.rollout; ++t) {
    const auto [logits, value] = network->answer(frames, state);
    const at::Tensor log_policy = logits.log_softmax(1), actions = drawn_actions(logits);
    values.push_back(value);
    log_probabilities.push_back(log_policy.gather(1, actions.unsqueeze(1)).squeeze(1));
    entropies.push_back(-(log_policy.exp() * log_policy).sum(1));
    const auto [points, ended, has_ended] = playing_->act(numbers(actions));
    ended_.insert(ended_.end(), ended.begin(), ended.end());
    rewards.push_back(at::tensor(points, at::kFloat).clamp(-1, 1));
    continues.push_back(
        1 - at::tensor(std::vector<int64_t>(has_ended.begin(), has_ended.end()), at::kFloat));
    if (!ended.empty()) state = network->restart(state, continues.back());
    frames = playing_->observe(/*take=*/true);
  }
  store(state);
  at::Tensor last_values;
  {
    at::NoGradGuard no_grad;
    last_values = network->answer(frames, state).values;
  }
  return actor_critic_loss({at::stack(rewards), at::stack(continues), at::stack(values),
                            at::stack(log_probabilities), at::stack(entropies), last_values},
                           config);
}

std::vector<PlayedGame> PongWorkersImpl::take_ended() {
  return std::exchange(ended_, {});
}

std::vector<PlayedGame> play_games(PongNetwork& network, const PongEnvironmentConfig& config,
                                   int64_t games, uint64_t seed) {
  at::NoGradGuard no_grad;
  PongGames playing(config, games, seed);
  PongNetwork::State state = network.first_state(games);
  std::vector<PlayedGame> played(games);
  std::vector<bool> done(played.size(), false);
  while (std::ranges::find(done, false) != done.end()) {
    InterruptGuard::stop_if_interrupted("stopped while the agent was measured");
    const auto answer = network.answer(playing.observe(/*take=*/true), state);
    const auto outcome = playing.act(numbers(drawn_actions(answer.logits)));
    auto ended = outcome.ended.begin();
    for (size_t game = 0; game < played.size(); ++game) {
      if (!outcome.has_ended[game]) continue;
      if (!done[game]) played[game] = *ended;  // what a worker plays after its game is not counted
      done[game] = true;
      ++ended;
    }
  }
  return played;
}

}  // namespace tessera::task
