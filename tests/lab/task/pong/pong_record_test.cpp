#include "lab/task/pong/pong_players.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/random.h"
#include "tessera/base/safetensors.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

PongRecord short_games(PongPlayer player) {
  return {.environment = {.game = {.points = 3}}, .player = player, .seed = 7};
}

std::vector<nlohmann::json> lines_of(const PongRecord& record, int64_t games) {
  std::vector<nlohmann::json> lines;
  write_pong_jsonl(record, games,
                   [&](std::string_view line) { lines.push_back(nlohmann::json::parse(line)); });
  return lines;
}

template <typename T>
std::vector<T> numbers_of(const safetensors::TensorView& tensor) {
  std::vector<T> numbers(tensor.bytes.size() / sizeof(T));
  std::memcpy(numbers.data(), tensor.bytes.data(), tensor.bytes.size());
  return numbers;
}

/// Rewards add up to the points, the ball stays on the field, and only the last action ends a game.
TEST(PongRecord, SaysWhatIsOnTheField) {
  for (const PongPlayer player : {PongPlayer::kStill, PongPlayer::kPerfect}) {
    const PongRecord record = short_games(player);
    const PongScore score = play_game(record.environment, player, record.seed);
    const auto lines = lines_of(record, 1);
    ASSERT_EQ(std::ssize(lines), score.actions);
    int64_t reward = 0;
    for (const auto& line : lines) {
      reward += line.at("reward").get<int64_t>();
      if (line.at("ball").is_null()) continue;
      EXPECT_GE(line["ball"][0], 0);
      EXPECT_LE(line["ball"][0], pong::kFrameWidth);
      EXPECT_GE(line["ball"][1], pong::kFieldTop);
      EXPECT_LE(line["ball"][1], pong::kFieldBottom);
    }
    EXPECT_EQ(reward, score.reward());
    EXPECT_EQ(lines.back().at("points"), nlohmann::json({score.won, score.lost}));
  }
}

TEST(PongRecord, EachGameHasASeedOfItsOwn) {
  PongRecord record = short_games(PongPlayer::kRandom);
  const auto both = lines_of(record, 2);
  record.seed = run_seed(record.seed, 1);
  const auto second = lines_of(record, 1);
  ASSERT_GT(both.size(), second.size());
  const auto first = both.size() - second.size();
  EXPECT_EQ(both[first - 1].at("game"), 0);
  for (size_t i = 0; i < second.size(); ++i)
    EXPECT_EQ(both[first + i].at("ball"), second[i].at("ball"));
}

TEST(PongRecord, TensorsHoldWhatTheAgentSees) {
  const test::TemporaryFolder folder;
  const PongRecord record = short_games(PongPlayer::kPerfect);
  write_pong_tensors(record, folder / "game.safetensors");
  const auto file = safetensors::File::open(folder / "game.safetensors");
  const auto lines = lines_of(record, 1);
  EXPECT_EQ(file.at("observations").shape, (std::vector<int64_t>{std::ssize(lines) + 1, 80, 80}));
  for (const float seen : numbers_of<float>(file.at("observations")))
    ASSERT_TRUE(0 <= seen && seen <= 1) << seen;
  const auto rewards = numbers_of<int64_t>(file.at("rewards"));
  ASSERT_EQ(rewards.size(), lines.size());
  for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(rewards[i], lines[i].at("reward"));
}

TEST(PongRecord, RefusesWhatCannotBePlayed) {
  PongRecord record = short_games(PongPlayer::kStill);
  EXPECT_THROW(lines_of(record, 0), UsageError);
  record.environment.size = 3;
  EXPECT_THROW(lines_of(record, 1), UsageError);
}

}  // namespace
}  // namespace tessera::task
