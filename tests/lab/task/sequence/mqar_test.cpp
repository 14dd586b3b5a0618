#include "lab/task/mqar/mqar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

using test::message_of;

/// The forms of the task, each with sizes that leave places free.
std::vector<MqarConfig> mqar_forms() {
  return {{.length = 64, .pairs = 4, .vocabulary = 8192},
          {.length = 40, .pairs = 10, .vocabulary = 32},
          {.length = 40, .pairs = 8, .vocabulary = 64, .overwritten = 3},
          {.length = 40, .pairs = 4, .vocabulary = 32, .filler = MqarFiller::kZero},
          {.length = 60, .pairs = 9, .vocabulary = 48, .compound = true}};
}

int64_t key_width(const MqarConfig& config) {
  return config.compound ? 2 : 1;
}

/// The steps that are asked, and the classes there.
std::map<int64_t, int64_t> answers_of(const TaskSample& sample) {
  std::map<int64_t, int64_t> answers;
  for (int64_t i = 0; i < sample.answers; ++i)
    if (const int64_t value = sample.classes.at(i); value != kNotAsked)
      answers[sample.first_answer + i] = value;
  return answers;
}

/// The key that ends at this step.
std::vector<int64_t> key_at(const TaskSample& sample, int64_t step, int64_t width) {
  const auto end = sample.tokens.begin() + step + 1;
  return {end - width, end};
}

/// The values of the context by their keys, in the order in which they come.
std::map<std::vector<int64_t>, std::vector<int64_t>> context_of(const MqarConfig& config,
                                                                const TaskSample& sample) {
  std::map<std::vector<int64_t>, std::vector<int64_t>> values;
  const int64_t width = key_width(config);
  for (int64_t pair = 0; pair < config.pairs + config.overwritten; ++pair) {
    const int64_t step = pair * (width + 1) + width;
    values[key_at(sample, step - 1, width)].push_back(sample.tokens.at(step));
  }
  return values;
}

TEST(Mqar, AsksForTheLastValueOfEachKey) {
  for (const MqarConfig& config : mqar_forms()) {
    const int64_t width = key_width(config), V = config.vocabulary;
    for (int64_t index = 0; index < 50; ++index) {
      const TaskSample sample = Mqar(config).sample(3, index);
      ASSERT_EQ(std::ssize(sample.tokens), sample.steps);
      EXPECT_LE(sample.steps, config.length);
      EXPECT_EQ(sample.steps, sample.first_answer + sample.answers);
      const auto context = context_of(config, sample);
      ASSERT_EQ(std::ssize(context), config.pairs);  // no key comes twice, but the overwritten ones
      int64_t written = 0;
      for (const auto& [key, values] : context) written += std::ssize(values);
      EXPECT_EQ(written, config.pairs + config.overwritten);
      std::set<std::vector<int64_t>> asked;
      for (const auto& [step, value] : answers_of(sample)) {
        EXPECT_EQ(step % (width + 1), width - 1);
        EXPECT_GE(step, (width + 1) * (config.pairs + config.overwritten));
        const auto key = key_at(sample, step, width);
        EXPECT_TRUE(asked.insert(key).second);
        EXPECT_EQ(value, context.at(key).back());
        EXPECT_TRUE(width * V / (width + 1) <= value && value < V);
        for (int64_t part = 0; part < width; ++part) {
          const int64_t token = key[part], keys = V / (width + 1);
          EXPECT_TRUE(std::max<int64_t>(1, part * keys) <= token && token < (part + 1) * keys);
        }
      }
      EXPECT_EQ(std::ssize(asked), config.pairs);
      if (config.filler == MqarFiller::kZero) {
        EXPECT_EQ(std::ranges::count(sample.tokens, 0), sample.steps - 3 * config.pairs);
      }
      EXPECT_NE(sample.classes.front(), kNotAsked);
      EXPECT_NE(sample.classes.back(), kNotAsked);
    }
  }
}

TEST(Mqar, EachHalfOfACompoundKeyHasSeveralValues) {
  const MqarConfig config = mqar_forms().back();
  const TaskSample sample = Mqar(config).sample(1, 0);
  std::array<std::map<int64_t, int>, 2> keys_of;
  for (const auto& [key, values] : context_of(config, sample))
    for (size_t half = 0; half < 2; ++half) ++keys_of.at(half)[key[half]];
  for (const auto& halves : keys_of) {
    EXPECT_EQ(halves.size(), 3u);
    for (const auto& [token, count] : halves) EXPECT_EQ(count, 3) << token;
  }
}

TEST(Mqar, PlacesAreAskedByTheirPowerLaw) {
  // One pair, three places: weights 1, 2^-0.99, 3^-0.99.
  const Mqar task({.length = 8, .pairs = 1, .vocabulary = 16});
  std::array<double, 3> weights = {1, std::pow(2, -0.99), std::pow(3, -0.99)}, counts = {};
  constexpr int kSamples = 6000;
  for (int64_t index = 0; index < kSamples; ++index)
    ++counts.at(task.sample(5, index).first_answer / 2 - 1);
  const double sum = weights[0] + weights[1] + weights[2];
  for (size_t place = 0; place < 3; ++place) {
    const double share = weights.at(place) / sum;
    const double deviation = std::sqrt(kSamples * share * (1 - share));
    EXPECT_NEAR(counts.at(place), kSamples * share, 4 * deviation) << place;
  }
}

TEST(Mqar, DescribesItselfTheSameEverywhere) {
  EXPECT_EQ(Mqar({.length = 16, .pairs = 2, .vocabulary = 32}).describe(1, 0).dump(),
            R"({"index":0,"tokens":[14,31,13,18,13,26,14],"answers":[[4,18],[6,31]]})");
}

TEST(Mqar, LevelsAreWhatTheStrategiesScore) {
  for (const MqarConfig& config : mqar_forms()) {
    const Mqar task(config);
    // The first value of the context, the key's first value, the first value of the key's first
    // half: their shares of right answers.
    double context_right = 0, first_right = 0, half_right = 0, asked = 0;
    for (int64_t index = 0; index < 1000; ++index) {
      const TaskSample sample = task.sample(2, index);
      const auto context = context_of(config, sample);
      const int64_t width = key_width(config);
      for (const auto& [step, value] : answers_of(sample)) {
        const auto key = key_at(sample, step, width);
        ++asked;
        context_right += sample.tokens[width] == value;
        first_right += context.at(key).front() == value;
        const auto like = std::find_if(context.begin(), context.end(), [&](const auto& pair) {
          return pair.first.front() == key.front();
        });
        half_right += like->second.front() == value;
      }
    }
    const auto levels = task.levels();
    // With overwritten keys the first value counts where its key does not come again.
    const double pairs = config.pairs;
    const double stays = 1 - static_cast<double>(config.overwritten) / pairs;
    EXPECT_NEAR(context_right / asked, stays / pairs, 0.01);
    EXPECT_NEAR(levels.at(1).value, 1 / (pairs + static_cast<double>(config.overwritten)), 1e-12);
    if (config.overwritten > 0) {
      EXPECT_EQ(levels.at(2).strategy, "the key's first value");
      EXPECT_NEAR(first_right / asked, levels.at(2).value, 1e-12);
    }
    if (config.compound) {
      EXPECT_EQ(levels.at(2).strategy, "a value of the key's first half");
      EXPECT_NEAR(half_right / asked, levels.at(2).value, 1e-12);
    }
  }
}

TEST(Mqar, RefusesImpossibleSizes) {
  const auto refusal = [](const MqarConfig& config) {
    return message_of<UsageError>([&] { Mqar{config}; });
  };
  EXPECT_EQ(refusal({.length = 16, .pairs = 4}), "");
  EXPECT_EQ(refusal({.length = 15, .pairs = 4}),
            "task.length is 15, expected at least 16 for 4 pairs and 0 overwritten keys");
  EXPECT_EQ(refusal({.length = 17, .pairs = 4, .overwritten = 1}),
            "task.length is 17, expected at least 18 for 4 pairs and 1 overwritten keys");
  EXPECT_EQ(refusal({.length = 23, .pairs = 4, .compound = true}),
            "task.length is 23, expected at least 24 for 4 pairs and 0 overwritten keys");
  EXPECT_EQ(refusal({.pairs = 8, .vocabulary = 16}),
            "task.pairs (of this vocabulary) is 8, expected a whole number from 1 to 7");
  EXPECT_EQ(refusal({.pairs = 5, .vocabulary = 64, .compound = true}),
            "task.pairs is 5, expected a square number where keys are compound");
  EXPECT_EQ(refusal({.pairs = 4, .overwritten = 1, .compound = true}),
            "task.overwritten is 1, expected 0 where keys are compound");
  EXPECT_EQ(refusal({.pairs = 4, .overwritten = 5}),
            "task.overwritten is 5, expected a whole number from 0 to 4");
  EXPECT_NE(refusal({.vocabulary = 5}), "");
  EXPECT_NE(refusal({.pairs = 0}), "");
}

}  // namespace
}  // namespace tessera::task
