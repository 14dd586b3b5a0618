#include "lab/task/pong/pong_environment.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "lab/task/sequence/check_range.h"
#include "tessera/base/error.h"

namespace tessera::task {
namespace {

constexpr size_t kFramesShown = 3;
constexpr uint64_t kNoopStream = 1;  // of the seed; the game itself reads stream 0
constexpr double kDecay = 0.9999, kLeastDeviation = 1e-8;

constexpr PongMove kEmulatorMoves[] = {PongMove::kStay, PongMove::kStay, PongMove::kUp,
                                       PongMove::kDown, PongMove::kUp,   PongMove::kDown};
constexpr PongMove kReducedMoves[] = {PongMove::kStay, PongMove::kUp, PongMove::kDown};

PongEnvironmentConfig checked(const PongEnvironmentConfig& config) {
  config.check();
  return config;
}

}  // namespace

std::span<const PongMove> moves_of(PongActions actions) {
  if (actions == PongActions::kEmulator) return kEmulatorMoves;
  return kReducedMoves;
}

void PongEnvironmentConfig::check() const {
  game.check();
  check_range(frame_skip, 0, 1000, "pong: frame_skip");
  check_range(size, 1, pong::kWidth, "pong: size");
  if (pong::kWidth % size != 0)
    throw UsageError("pong: size is {}, expected a divisor of {}", size, pong::kWidth);
  check_range(most_noops, 0, 1000, "pong: most_noops");
  check_range(longest_game, 1, 1'000'000, "pong: longest_game");
}

PongEnvironment::PongEnvironment(const PongEnvironmentConfig& config, uint64_t seed)
    : config_(checked(config)), game_(config.game, seed) {
  RandomStream random(seed, kNoopStream);
  const uint64_t noops =
      config.most_noops > 0 ? 1 + random.below(static_cast<uint64_t>(config.most_noops)) : 0;
  for (uint64_t frame = 0; frame < noops && !game_.over(); ++frame) game_.play(PongMove::kStay);
  show();
}

void PongEnvironment::show() {
  shown_.push_back(game_);
  if (shown_.size() > kFramesShown) shown_.pop_front();
}

PongEnvironment::Outcome PongEnvironment::act(int64_t action) {
  const auto moves = moves_of(config_.actions);
  check_argument(action >= 0 && action < std::ssize(moves),
                 "PongEnvironment: action is {}, expected 0 to {}", action, moves.size() - 1);
  if (game_.over() || acted_ >= config_.longest_game)
    throw std::logic_error("PongEnvironment: the game has ended");
  const int64_t frames = config_.frames_per_action();
  Outcome outcome;
  for (int64_t frame = 0; frame < frames && !game_.over(); ++frame) {
    outcome.reward += game_.play(moves[static_cast<size_t>(action)]);
    show();
  }
  outcome.ended = ++acted_ >= config_.longest_game || game_.over();
  return outcome;
}

PongFrame PongEnvironment::frame() const {
  PongFrame brightest = draw_frame(shown_.front());
  for (size_t i = 1; i < shown_.size(); ++i) keep_brighter(brightest, draw_frame(shown_[i]));
  return brightest;
}

std::vector<float> PongEnvironment::observation() const {
  return grey_field(frame(), config_.size);
}

void FrameNormaliser::take(std::span<const float> frame) {
  double sum = 0, squares = 0;
  for (const float value : frame) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const double count = static_cast<double>(frame.size()), average = sum / count;
  mean = kDecay * mean + (1 - kDecay) * average;
  deviation = kDecay * deviation +
              (1 - kDecay) * std::sqrt(std::max(squares / count - average * average, 0.0));
  ++frames;
}

void FrameNormaliser::apply(std::span<const float> frame, std::span<float> normalised) const {
  const double unbiased = 1 / (1 - std::pow(kDecay, static_cast<double>(frames)));
  const double centre = mean * unbiased, scale = 1 / (deviation * unbiased + kLeastDeviation);
  std::transform(frame.begin(), frame.end(), normalised.begin(),
                 [&](float value) { return static_cast<float>((value - centre) * scale); });
}

}  // namespace tessera::task
