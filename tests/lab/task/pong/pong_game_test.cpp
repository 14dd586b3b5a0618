#include "lab/task/pong/pong_game.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "lab/task/pong/pong_players.h"
#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

using test::message_of;
using testing::HasSubstr;

PongEnvironmentConfig every_frame(double opponent_skill) {
  return {.game = {.opponent_skill = opponent_skill}, .frame_skip = 0, .longest_game = 100'000};
}

TEST(PongGame, APerfectPlayerBeatsTheOpponent) {
  for (const double skill : {0.0, 0.25, 0.5})
    for (uint64_t seed = 0; seed < 5; ++seed) {
      const PongScore score = play_game(every_frame(skill), PongPlayer::kPerfect, seed);
      EXPECT_EQ(score.won, 21) << skill << " " << seed;
      EXPECT_LE(score.lost, 1) << skill << " " << seed;
    }
}

TEST(PongGame, AStillPlayerLosesEveryPointToAnOpponentThatNeverMisses) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const PongScore score = play_game(every_frame(1), PongPlayer::kStill, seed);
    EXPECT_EQ(score.won, 0) << seed;
    EXPECT_EQ(score.lost, 21) << seed;
  }
}

TEST(PongGame, TheOpponentLosesMoreOftenWithLessSkill) {
  const auto mean_reward = [](double skill) {
    int64_t sum = 0;
    for (uint64_t seed = 0; seed < 20; ++seed)
      sum += play_game(every_frame(skill), PongPlayer::kRandom, seed).reward();
    return static_cast<double>(sum) / 20;
  };
  const double unskilled = mean_reward(0), middling = mean_reward(0.5), perfect = mean_reward(1);
  EXPECT_GT(unskilled, middling);
  EXPECT_GT(middling, perfect);
  EXPECT_EQ(perfect, -21);
}

// Every frame of games with all kinds of moves: everything stays where it may be.
TEST(PongGame, NothingLeavesItsBounds) {
  for (const double skill : {0.0, 0.3, 1.0}) {
    PongGame game({.points = 5, .opponent_skill = skill}, 4);
    RandomStream random(9);
    int64_t points = 0;
    PongMove move = PongMove::kStay;
    for (int frame = 0; frame < 30'000 && !game.over(); ++frame) {
      if (frame % 7 == 0) move = static_cast<PongMove>(random.below(3));
      const int point = game.play(move);
      points += std::abs(point);
      ASSERT_EQ(game.player_points() + game.opponent_points(), points);
      ASSERT_LE(std::max(game.player_points(), game.opponent_points()), 5);
      for (const PongBox& paddle : {game.player(), game.opponent()}) {
        ASSERT_GE(paddle.top, pong::kFieldTop);
        ASSERT_LE(paddle.top + paddle.height, pong::kFieldBottom);
      }
      if (!game.ball_in_play()) continue;
      ASSERT_GE(game.ball().top, pong::kFieldTop);
      ASSERT_LE(game.ball().top + game.ball().height, pong::kFieldBottom);
      ASSERT_LE(std::abs(game.ball_speed_sideways()), pong::kTopSpeed);
      ASSERT_LE(std::abs(game.ball_speed_downwards()), pong::kSteepest * pong::kTopSpeed);
    }
    EXPECT_TRUE(game.over());
    EXPECT_THROW(game.play(PongMove::kStay), std::logic_error);
  }
}

TEST(PongGame, EqualSeedsGiveEqualGames) {
  const auto trace = [](uint64_t seed) {
    PongGame game({}, seed);
    std::vector<double> places;
    for (int frame = 0; frame < 500; ++frame) {
      game.play(frame % 3 == 0 ? PongMove::kUp : PongMove::kDown);
      places.insert(places.end(), {game.ball().left, game.ball().top, game.opponent().top});
    }
    return places;
  };
  EXPECT_EQ(trace(3), trace(3));
  EXPECT_NE(trace(3), trace(4));
}

TEST(PongGame, ACopyPlaysOnByItself) {
  PongGame game({}, 5);
  for (int frame = 0; frame < 40; ++frame) game.play(PongMove::kStay);
  PongGame copy = game;
  for (int frame = 0; frame < 40; ++frame) copy.play(PongMove::kDown);
  EXPECT_GT(copy.player().top, game.player().top);
}

// A rally of a perfect player against one that never misses: each hit is faster, up to the limit,
// and steeper the farther from the middle it was.
TEST(PongGame, TheBallGrowsFasterWithTheRally) {
  PongGame game({.points = 1, .opponent_skill = 1}, 6);
  while (!game.ball_in_play()) game.play(PongMove::kStay);
  double before = game.ball_speed_sideways();
  EXPECT_EQ(std::abs(before), pong::kServeSpeed);
  int hits = 0;
  for (int frame = 0; frame < 5000 && !game.over(); ++frame) {
    const double off_middle =
        (row_of_arrival(game, before > 0 ? 138.0 : 20.0) - game.player().middle_row());
    game.play(std::abs(off_middle) < 2 || before < 0 ? PongMove::kStay
              : off_middle < 0                       ? PongMove::kUp
                                                     : PongMove::kDown);
    const double now = game.ball_speed_sideways();
    if (now * before < 0) {
      ++hits;
      EXPECT_DOUBLE_EQ(std::abs(now), std::min(pong::kTopSpeed, 2 + 0.125 * hits));
      if (now < 0) {  // the player's hit, of the ball's row after this frame
        const double share = (game.ball().middle_row() - game.player().middle_row()) / 10;
        EXPECT_NEAR(game.ball_speed_downwards(), share * 1.2 * std::abs(now), 1e-12);
      }
    }
    before = now;
  }
  EXPECT_GT(hits, 14);  // the limit is reached with 12
}

// Where the ball is said to arrive, it arrives, up to one frame's way.
TEST(PongGame, TheRowOfArrivalCountsTheWalls) {
  int arrivals = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    PongGame game({.points = 3, .opponent_skill = 1}, seed);
    double predicted = -1;
    while (!game.over()) {
      const double before = game.ball_speed_sideways();
      game.play(seed % 2 == 0 ? PongMove::kUp : PongMove::kDown);
      if (!game.ball_in_play()) predicted = -1;
      if (!game.ball_in_play() || game.ball_speed_sideways() < 0) continue;
      if (predicted < 0 || before < 0) predicted = row_of_arrival(game, 138);
      if (std::abs(game.ball().left - 138) > 2) continue;
      EXPECT_NEAR(game.ball().middle_row(), predicted, 5);
      ++arrivals;
    }
  }
  EXPECT_GT(arrivals, 30);
}

TEST(PongGame, RefusesImpossibleSettings) {
  const auto message = [](const PongConfig& config) {
    return message_of<UsageError>([&] { PongGame(config, 1); });
  };
  EXPECT_THAT(message({.points = 0}), HasSubstr("game.points is 0"));
  EXPECT_THAT(message({.points = 100}), HasSubstr("game.points is 100"));
  EXPECT_THAT(message({.opponent_skill = -0.1}), HasSubstr("opponent_skill is -0.1"));
  EXPECT_THAT(message({.opponent_skill = NAN}), HasSubstr("opponent_skill is nan"));
  EXPECT_EQ(message({}), "");
}

}  // namespace
}  // namespace tessera::task
