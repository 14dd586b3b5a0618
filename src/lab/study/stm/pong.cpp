// Figure 3: agents with an LSTM and with a two-memory model beside it learn Pong, at four numbers
// of frames between two looks at the screen.

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "lab/learner/pong/pong_learner.h"
#include "lab/study/comparison.h"
#include "lab/study/stm/studies.h"
#include "lab/task/pong/pong_players.h"
#include "tessera/base/random.h"
#include "tessera/report/tiles.h"

namespace tessera::stm_study {
namespace {

using namespace task;

struct PongSettings {
  std::vector<int64_t> frame_skips = {0, 4, 16, 32};
  int64_t moving_mean = 100;
  int64_t player_games = 100;
  PongTrainingConfig training;

  static inline const SettingNames kSetByStudy = {"train.seed", "agent.memory",
                                                  "environment.frame_skip"};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("frame_skips", frame_skips, "the agents are trained at each; 0: every frame is seen");
    field("moving_mean", moving_mean, "games in the mean that is drawn", config::at_least(1));
    field("player_games", player_games, "games of each player that does not learn",
          config::at_least(1));
    field("training", training, "how each agent is trained, but for its memory and the frame skip");
  }
};

/// The paper's. Else games to 3 points against a weaker opponent, frames and networks a fraction of
/// the paper's. Short rollouts of many workers: what learning needs most are updates.
PongSettings pong_settings(StudySize size) {
  PongSettings settings;
  if (size == StudySize::kPaper) return settings;
  settings.frame_skips = {4, 16};
  PongTrainingConfig& training = settings.training;
  training.environment.game = {.points = 3, .opponent_skill = 0.2};
  training.environment.size = 20;
  training.environment.actions = PongActions::kReduced;
  training.agent.channels = {8};
  training.agent.kernels = {5};
  training.agent.paddings = {2};
  training.agent.hidden = 64;
  training.agent.slots = 2;
  training.agent.width = 16;
  training.agent.distilled = 16;
  training.agent.outputs = 32;
  training.actor_critic.rollout = 5;
  training.train.steps = 15'000;
  training.train.batch = 32;
  training.train.learning_rate = training.train.min_learning_rate = 1e-3;
  training.actor_critic.entropy = 0.03;  // at 2e-3 and 0.01 one LSTM of two learned nothing
  training.train.epsilon = 1e-5;
  training.train.clip = 1;
  training.train.checkpoint_every = 1000;
  training.train.threads = 1;  // more are slower with networks of this size
  if (size == StudySize::kDefault) return settings;
  settings.frame_skips = {16};
  training.train.steps = 2400;
  return settings;
}

/// One agent at one frame skip, after its training.
struct Agent {
  std::string name;
  int64_t frame_skip, parameters;
  Trained trained;
  std::vector<PlayedGame> games;  ///< of the training

  /// Of `count` games from game `first` on.
  double reward(size_t first, size_t count) const {
    return mean_reward(std::span(games).subspan(first, count));
  }
};

/// Agents with both memories.
std::vector<Agent> train_agents(StudyContext& context, const PongSettings& settings,
                                int64_t frame_skip) {
  std::vector<Contestant> contestants;
  for (const auto& [name, memory] :
       {std::pair("LSTM", PongMemory::kLstm), {"STM", PongMemory::kStm}})
    contestants.push_back(
        {.name = fmt::format("{}, skip {}", name, frame_skip),
         .model = {{"memory", config::enum_name(memory)}},
         .folder = fmt::format("{}-skip{}", config::enum_name(memory), frame_skip)});
  const auto trained =
      compare(context, contestants, /*runs=*/1, [&](const Contestant& contestant, uint64_t seed) {
        PongTrainingConfig config = settings.training;
        config.environment.frame_skip = frame_skip;
        config::from_json(contestant.model, config.agent, "agent");
        config.train.seed = seed;
        return std::make_unique<PongLearner>(config);
      });
  std::vector<Agent> agents;
  for (const auto& agent : trained) {
    const auto& [learner, result] = agent.first();
    agents.push_back({agent.name, frame_skip, learner->parameter_count(), result,
                      games_of_training(result.folder)});
  }
  return agents;
}

/// The moving mean of the rewards, in some 200 points, at most 400.
void add_curve(StudyContext& context, const Agent& agent, int64_t window) {
  constexpr size_t kPoints = 200;
  const size_t games = agent.games.size();
  const size_t width = std::min<size_t>(games, window);
  const size_t stride = std::max<size_t>(1, (games - width) / kPoints);
  if (width == 0) return;
  for (size_t last = width; last <= games; last += stride)
    context.results().add_point(
        {agent.name, static_cast<double>(last), agent.reward(last - width, width)});
}

void tabulate_agents(StudyContext& context, const std::vector<Agent>& agents, int64_t window) {
  Table table(fmt::format("Rewards are means: of the first and last {} games of the training, and "
                          "of the games after it. Ahead: when the mean of the last {} games was "
                          "first above 0",
                          window, window),
              {"agent", "parameters", "games", "first games", "last games", "after training",
               "ahead after games", "frames per second", "seconds"});
  for (const Agent& agent : agents) {
    const size_t games = agent.games.size();
    const size_t width = std::min<size_t>(games, window);
    const auto ahead = games_until_ahead(agent.games, window);
    table.add_row({agent.name, agent.parameters, games,
                   width > 0 ? Cell::fixed(agent.reward(0, width), 2) : Cell(),
                   width > 0 ? Cell::fixed(agent.reward(games - width, width), 2) : Cell(),
                   Cell::fixed(agent.trained.validation.at("reward"), 2),
                   ahead ? Cell(*ahead) : Cell(), Cell::fixed(agent.trained.units_per_second, 0),
                   Cell::fixed(agent.trained.seconds, 0)});
  }
  context.results().add_table("agents", std::move(table));
}

double reward_of_player(const PongEnvironmentConfig& config, PongPlayer player, int64_t games,
                        uint64_t seed) {
  double sum = 0;
  for (int64_t game = 0; game < games; ++game)
    sum += static_cast<double>(play_game(config, player, run_seed(seed, game)).reward());
  return sum / static_cast<double>(games);
}

/// Mean rewards of players that do not learn, by the frame skip, in the order of the table.
using PlayerRewards = std::map<int64_t, std::vector<double>>;

PlayerRewards tabulate_players(StudyContext& context, const PongSettings& settings) {
  Table table("Mean reward of players that do not learn",
              {"frame skip", "still", "random", "knows ball and opponent"});
  PlayerRewards rewards;
  for (const int64_t skip : settings.frame_skips) {
    PongEnvironmentConfig config = settings.training.environment;
    config.frame_skip = skip;
    std::vector<Cell> row = {skip};
    for (const PongPlayer player :
         {PongPlayer::kStill, PongPlayer::kRandom, PongPlayer::kPerfect}) {
      rewards[skip].push_back(
          reward_of_player(config, player, settings.player_games, context.seed()));
      row.push_back(Cell::fixed(rewards[skip].back(), 2));
    }
    table.add_row(std::move(row));
  }
  context.results().add_table("players", std::move(table));
  return rewards;
}

void draw(StudyContext& context, const std::vector<Agent>& agents, const PlayerRewards& players) {
  for (size_t i = 0; i + 1 < agents.size(); i += 2) {  // two agents at each skip
    const int64_t skip = agents[i].frame_skip;
    std::vector<std::string> names;
    for (const Agent* agent : {&agents[i], &agents[i + 1]})
      if (!agent->games.empty()) names.push_back(agent->name);
    if (names.empty()) continue;  // so short a training ends before its first game
    auto chart = context.results().chart_of_points(
        fmt::format("Learning Pong, frame skip {}", skip), {"games"}, {"reward per game"}, names);
    const double games =
        static_cast<double>(std::max(agents[i].games.size(), agents[i + 1].games.size()));
    const char* const kNames[] = {"still player", "random player"};
    for (size_t player = 0; player < 2; ++player) {
      const double reward = players.at(skip)[player];
      chart->add({kNames[player], {{0, reward}, {games, reward}}, SeriesStyle::kReference});
    }
    context.results().add_chart(fmt::format("rewards-skip{}", skip), std::move(chart),
                                "Moving mean over the games of all workers.");
  }
}

Picture colour_picture(const std::string& name, const PongEnvironment& environment) {
  return {name, pong::kFrameWidth, pong::kFrameHeight, environment.frame().rgb};
}

Picture grey_picture(const std::string& name, const PongEnvironment& environment) {
  const int size = static_cast<int>(environment.configuration().size);
  Picture picture{name, size, size, {}};
  for (const float value : environment.observation())
    picture.rgb.insert(picture.rgb.end(), 3, static_cast<uint8_t>(std::lround(255 * value)));
  return picture;
}

/// A rally between the player that knows ball and opponent and an opponent that never misses.
void show_rally(StudyContext& context, const PongSettings& settings) {
  constexpr int64_t kPictures = 8, kFrames = 16;  // frames from one picture to the next
  PongEnvironmentConfig config = settings.training.environment;
  config.game = {.points = 21, .opponent_skill = 1};
  config.frame_skip = 1;  // so that it aims exactly
  PongEnvironment environment(config, context.seed());
  RandomStream random(context.seed());
  auto screens = std::make_unique<PictureStrip>(fmt::format("A rally, every {} frames", kFrames));
  auto seen = std::make_unique<PictureStrip>(
      fmt::format("What an agent sees of it: {} x {} pixels", config.size, config.size));
  for (int64_t picture = 1; picture <= kPictures; ++picture) {
    for (int64_t action = 0; action < kFrames / config.frame_skip; ++action)
      environment.act(choose_action(PongPlayer::kPerfect, environment, random));
    const std::string name = fmt::format("frame {}", picture * kFrames);
    screens->add(colour_picture(name, environment));
    seen->add(grey_picture(name, environment));
  }
  context.results().add_chart("rally", std::move(screens),
                              "Right the player that knows ball and opponent, left an opponent "
                              "that never misses. Each pixel is the brightest of three frames.");
  context.results().add_chart(
      "rally-seen", std::move(seen),
      "The same in grey, without scores and walls, before it is normalised.");
}

void add_pong_differences(StudyContext& context, const PongSettings& settings) {
  StudyResults& results = context.results();
  const PongTrainingConfig& training = settings.training;
  const PongEnvironmentConfig& environment = training.environment;
  results.add_difference(
      "The game is a simulator of ours and not the Atari 2600's: same field, paddles and actions, "
      "our own speeds and opponent, so rewards are not those of the paper.");
  results.add_difference(
      "The paper shows figure 3 as a picture and gives no numbers. It says: at frame skip 4 both "
      "agents reach a perfect reward and STM slightly sooner; at 0, 16 and 32 STM needs fewer "
      "games for higher rewards, above all at 32; means of 5 runs. Ours is one run of each.");
  results.add_difference(fmt::format(
      "Games to {} points against an opponent of skill {:g}, {} x {} pixels, {} "
      "actions, an LSTM of {}; the paper has 21 points and 512, its code 80 x 80 and 6.",
      environment.game.points, environment.game.opponent_skill, environment.size, environment.size,
      moves_of(environment.actions).size(), training.agent.hidden));
  results.add_difference(fmt::format(
      "{} workers take turns on one network and update it together after every {} steps, {} times, "
      "by Adam at a rate of {:g}, the entropy weighted by {:g}; the paper's 32 processes update it "
      "asynchronously at 1e-4, its code after 20 steps, with AMSGrad and a weight of 0.01.",
      training.train.batch, training.actor_critic.rollout, training.train.steps,
      training.train.learning_rate, training.actor_critic.entropy));
}

void check_pong(const PongSettings& settings) {
  check_list("frame_skips", settings.frame_skips);
  for (const int64_t skip : settings.frame_skips) {
    PongTrainingConfig training = settings.training;
    training.environment.frame_skip = skip;
    training.check();
  }
}

}  // namespace

void pong(StudyContext& context) {
  const PongSettings settings = context.settings(pong_settings, kNoSetting);
  check_pong(settings);
  show_rally(context, settings);
  const PlayerRewards players = tabulate_players(context, settings);
  std::vector<Agent> agents;
  for (const int64_t skip : settings.frame_skips)
    for (Agent& agent : train_agents(context, settings, skip)) {
      add_curve(context, agent, settings.moving_mean);
      agents.push_back(std::move(agent));
    }
  tabulate_agents(context, agents, settings.moving_mean);
  draw(context, agents, players);
  add_pong_differences(context, settings);
}

}  // namespace tessera::stm_study
