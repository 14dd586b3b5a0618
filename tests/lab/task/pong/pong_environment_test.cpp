#include "lab/task/pong/pong_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <stdexcept>

#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

using test::message_of;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<uint8_t> pixel(const PongFrame& frame, int row, int column) {
  const auto first = frame.rgb.begin() + 3 * (row * pong::kFrameWidth + column);
  return {first, first + 3};
}

TEST(PongFrame, ShowsWallsPaddlesBallAndScore) {
  PongGame game({}, 2);
  for (int frame = 0; frame < 10; ++frame) game.play(PongMove::kStay);
  const PongFrame frame = draw_frame(game);
  ASSERT_EQ(frame.rgb.size(), 210u * 160 * 3);
  EXPECT_THAT(pixel(frame, 40, 80), ElementsAre(144, 72, 17));
  EXPECT_THAT(pixel(frame, 30, 80), ElementsAre(236, 236, 236));
  EXPECT_THAT(pixel(frame, 200, 80), ElementsAre(236, 236, 236));
  const auto middle = [&](const PongBox& box) {
    return pixel(frame, static_cast<int>(std::lround(box.middle_row())),
                 static_cast<int>(box.left + box.width / 2));
  };
  EXPECT_THAT(middle(game.opponent()), ElementsAre(213, 130, 74));
  EXPECT_THAT(middle(game.player()), ElementsAre(92, 186, 92));
  EXPECT_THAT(middle(game.ball()), ElementsAre(236, 236, 236));
  int paddle = 0;
  for (int row = 34; row < 194; ++row)
    for (int column = 0; column < 160; ++column)
      paddle += pixel(frame, row, column)[1] == 186 ? 1 : 0;
  EXPECT_EQ(paddle, 4 * 16);
  // 0 : 0, of which the upper left square of the left digit and its empty middle are looked at.
  EXPECT_THAT(pixel(frame, 3, 45), ElementsAre(213, 130, 74));
  EXPECT_THAT(pixel(frame, 11, 50), ElementsAre(144, 72, 17));
}

TEST(PongFrame, ShowsEachScoreDifferently) {
  PongGame game({.points = 12, .opponent_skill = 1}, 2);
  std::vector<std::vector<uint8_t>> seen;
  for (int64_t points = 0; points < 12; ++points) {
    while (game.opponent_points() < points) game.play(PongMove::kStay);
    const PongFrame frame = draw_frame(game);
    std::vector<uint8_t> top(frame.rgb.begin(), frame.rgb.begin() + 24 * 160 * 3);
    for (const auto& other : seen) EXPECT_NE(top, other);
    seen.push_back(std::move(top));
  }
}

TEST(PongFrame, TheGreyFieldIsTheMeanOfSquares) {
  PongGame game({}, 7);
  for (int frame = 0; frame < 25; ++frame) game.play(PongMove::kUp);
  const PongFrame frame = draw_frame(game);
  for (const int64_t size : {80, 40, 1}) {
    const auto grey = grey_field(frame, size);
    ASSERT_EQ(std::ssize(grey), size * size);
    const int side = static_cast<int>(160 / size);
    for (int64_t row = 0; row < size; ++row)
      for (int64_t column = 0; column < size; ++column) {
        double sum = 0;
        for (int y = 0; y < side; ++y)
          for (int x = 0; x < side; ++x)
            for (const uint8_t value : pixel(frame, 34 + static_cast<int>(row) * side + y,
                                             static_cast<int>(column) * side + x))
              sum += value / 255.0 / 3 / (side * side);
        ASSERT_NEAR(grey[row * size + column], sum, 1e-6);
      }
  }
}

TEST(PongEnvironment, AnActionLastsAsLongAsTheSkip) {
  for (const int64_t skip : {0, 1, 4, 16, 32}) {
    const PongEnvironmentConfig config{.frame_skip = skip, .most_noops = 0};
    PongEnvironment environment(config, 3);
    PongGame game(config.game, 3);
    for (const int64_t action : {2, 0, 3, 5, 4, 1}) {
      const PongMove move = moves_of(config.actions)[action];
      for (int64_t frame = 0; frame < std::max<int64_t>(skip, 1); ++frame) game.play(move);
      environment.act(action);
      ASSERT_EQ(environment.game().ball().left, game.ball().left) << skip;
      ASSERT_EQ(environment.game().player().top, game.player().top) << skip;
    }
  }
}

// The ball is white on a darker field: over three frames it leaves a trace of three balls.
TEST(PongEnvironment, ShowsTheBrightestOfTheLastThreeFrames) {
  for (const int64_t skip : {0, 4}) {
    const PongEnvironmentConfig config{.frame_skip = skip, .most_noops = 0};
    PongEnvironment environment(config, 3);
    PongGame game(config.game, 3);
    std::vector<PongFrame> frames = {draw_frame(game)};
    for (int action = 0; action < 6; ++action) {
      environment.act(0);
      for (int64_t frame = 0; frame < std::max<int64_t>(skip, 1); ++frame) {
        game.play(PongMove::kStay);
        frames.push_back(draw_frame(game));
      }
    }
    PongFrame expected = frames.back();
    keep_brighter(expected, frames[frames.size() - 2]);
    keep_brighter(expected, frames[frames.size() - 3]);
    EXPECT_EQ(environment.frame().rgb, expected.rgb);
    EXPECT_NE(environment.frame().rgb, frames.back().rgb);
    EXPECT_EQ(environment.observation(), grey_field(expected, 80));
  }
}

TEST(PongEnvironment, GamesBeginWithAFewFramesWithoutAMove) {
  PongEnvironmentConfig config;
  std::set<double> balls;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const PongEnvironment environment(config, seed);
    EXPECT_EQ(environment.game().player().top, 106);
    balls.insert(std::abs(environment.game().ball().left - 79));
  }
  EXPECT_GT(balls.size(), 15u);  // of 30 places, by how far the ball has come
  config.most_noops = 0;
  EXPECT_FALSE(PongEnvironment(config, 1).game().ball_in_play());
}

TEST(PongEnvironment, AGameThatIsOverBeforeTheFirstActionBeginsAgain) {
  const PongEnvironmentConfig config{.game = {.points = 1},  // lost within a hundred frames
                                     .most_noops = 1000};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    PongEnvironment environment(config, seed);
    EXPECT_FALSE(environment.game().over());
    environment.act(0);
  }
}

TEST(PongEnvironment, TheReducedActionsAreThoseThatDiffer) {
  EXPECT_EQ(moves_of(PongActions::kEmulator).size(), 6u);
  EXPECT_THAT(moves_of(PongActions::kReduced),
              ElementsAre(PongMove::kStay, PongMove::kUp, PongMove::kDown));
}

TEST(PongEnvironment, AGameEndsAtItsPointsOrAtTheLongestLength) {
  PongEnvironmentConfig config;
  config.game = {.points = 2, .opponent_skill = 1};
  PongEnvironment environment(config, 1);
  PongEnvironment::Outcome outcome;
  int64_t reward = 0;
  while (!outcome.ended) reward += (outcome = environment.act(0)).reward;
  EXPECT_EQ(reward, -2);
  EXPECT_THROW(environment.act(0), std::logic_error);

  config.longest_game = 3;
  PongEnvironment cut(config, 1);
  EXPECT_FALSE(cut.act(0).ended);
  EXPECT_FALSE(cut.act(0).ended);
  EXPECT_TRUE(cut.act(0).ended);
  EXPECT_THROW(cut.act(0), std::logic_error);
}

TEST(PongEnvironment, RefusesImpossibleSettingsAndActions) {
  const auto message = [](auto change) {
    PongEnvironmentConfig config;
    change(config);
    return message_of<UsageError>([&] { PongEnvironment(config, 1); });
  };
  using Config = PongEnvironmentConfig;
  EXPECT_THAT(message([](Config& c) { c.frame_skip = -1; }),
              HasSubstr("environment.frame_skip is -1"));
  EXPECT_THAT(message([](Config& c) { c.size = 0; }), HasSubstr("environment.size is 0"));
  EXPECT_THAT(message([](Config& c) { c.size = 84; }), HasSubstr("expected a divisor of 160"));
  EXPECT_THAT(message([](Config& c) { c.most_noops = -1; }),
              HasSubstr("environment.most_noops is -1"));
  EXPECT_THAT(message([](Config& c) { c.longest_game = 0; }),
              HasSubstr("environment.longest_game is 0"));
  EXPECT_THAT(message([](Config& c) { c.game.points = 0; }),
              HasSubstr("environment.game.points is 0"));
  EXPECT_EQ(message([](Config&) {}), "");
  PongEnvironment environment({}, 1);
  EXPECT_THROW(environment.act(6), UsageError);
  EXPECT_THROW(environment.act(-1), UsageError);
}

// By hand: means 1 and 3 with deviations 1 and 0, weights .9999 and 1, so nearly their mean.
TEST(FrameNormaliser, IsTheRunningMeanWithoutBias) {
  FrameNormaliser normaliser;
  std::array<float, 2> normalised{};
  const std::array<float, 2> first = {0, 2}, second = {3, 3};
  normaliser.take(first);
  normaliser.apply(first, normalised);
  EXPECT_NEAR(normalised[0], -1, 1e-6);
  EXPECT_NEAR(normalised[1], 1, 1e-6);
  normaliser.take(second);
  normaliser.apply(second, normalised);
  const double mean = (0.9999 * 1 + 3) / 1.9999, deviation = 0.9999 / 1.9999;
  EXPECT_NEAR(normalised[0], (3 - mean) / deviation, 1e-5);
  EXPECT_EQ(normaliser.frames, 2);
}

TEST(FrameNormaliser, AnEvenFrameStaysFinite) {
  FrameNormaliser normaliser;
  const std::array<float, 3> even = {0.5f, 0.5f, 0.5f};
  std::array<float, 3> normalised{};
  normaliser.take(even);
  normaliser.apply(even, normalised);
  for (const float value : normalised) EXPECT_LT(std::abs(value), 1e3);
}

}  // namespace
}  // namespace tessera::task
