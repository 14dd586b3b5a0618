#include "lab/task/people/people.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

/// The values of a sample by their facts, and the person's name.
std::map<size_t, int64_t> facts_of(const TaskSample& sample) {
  std::map<size_t, int64_t> facts;
  for (const int64_t token : sample.classes)
    if (token != kNotAsked) {
      EXPECT_TRUE(facts.emplace(People::fact_of(token), token).second);
    }
  return facts;
}

TEST(People, EverybodyIsToldOnceInARoundAndAlwaysTheSame) {
  const People task({.people = 12});
  std::map<std::vector<int64_t>, std::map<size_t, int64_t>> people;
  for (const uint64_t seed : {1, 2})
    for (int64_t round = 0; round < 3; ++round) {
      std::set<std::vector<int64_t>> names;
      for (int64_t i = 0; i < 12; ++i) {
        const auto facts = facts_of(task.sample(seed, 12 * round + i));
        ASSERT_EQ(facts.size(), kPersonFacts.size());
        const std::vector<int64_t> name = {facts.at(0), facts.at(1), facts.at(2)};
        names.insert(name);
        EXPECT_EQ(people.emplace(name, facts).first->second, facts);
      }
      EXPECT_EQ(names.size(), 12u);
    }
  EXPECT_EQ(people.size(), 12u);
}

TEST(People, StepsAskForTheNextTokenWhereItTellsSomething) {
  const People task({.people = 5});
  std::set<std::vector<int64_t>> texts;
  for (int64_t index = 0; index < 40; ++index) {
    const TaskSample sample = task.sample(3, index);
    EXPECT_EQ(sample.steps, 29);
    EXPECT_EQ(std::ssize(sample.tokens), 29);
    EXPECT_EQ(sample.answers, 29);
    EXPECT_EQ(sample.first_answer, 0);
    for (int64_t step = 0; step + 1 < sample.steps; ++step) {
      const int64_t answer = sample.classes.at(step);
      if (answer != kNotAsked) {
        EXPECT_EQ(answer, sample.tokens.at(step + 1));
      }
    }
    EXPECT_NE(sample.classes.back(), kNotAsked);
    EXPECT_EQ(sample.tokens.front(), 0);
    texts.insert(sample.tokens);
  }
  EXPECT_GT(texts.size(), 30u);  // of five people: in other orders and forms
}

TEST(People, ValuesAreDrawnEvenly) {
  const People task({.people = 2800});
  std::map<int64_t, int> months;
  for (int64_t i = 0; i < 2800; ++i) ++months[facts_of(task.sample(1, i)).at(3)];
  ASSERT_EQ(months.size(), 12u);
  for (const auto& [month, count] : months) EXPECT_NEAR(count, 2800 / 12.0, 75) << month;
}

TEST(People, DescribesItself) {
  const config::Json line = People({.people = 3}).describe(1, 0);
  const std::string text = line["text"];
  EXPECT_EQ(text.substr(0, 11), "first-name-");
  EXPECT_EQ(text.back(), '.');
  std::istringstream words(text);
  int count = 0;
  for (std::string word; words >> word;) ++count;
  EXPECT_EQ(count, 3 + 7 + 4 * 5);  // names, birth date, four other facts
}

TEST(People, RefusesNobody) {
  EXPECT_EQ(test::message_of<UsageError>([] { People({.people = 0}); }),
            "task.people is 0, expected a whole number from 1 to 10000000");
}

}  // namespace
}  // namespace tessera::task
