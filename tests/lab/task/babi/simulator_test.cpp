#include "lab/task/babi/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "lab/task/babi/story.h"
#include "tessera/base/checksum.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tests/lab/task/babi/story_solver.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

/// Answers of the solver that differ from a story's own.
int64_t wrong_answers(const BabiStory& story, int64_t& questions) {
  test::StorySolver solver;
  int64_t wrong = 0;
  for (const BabiLine& line : story) {
    const std::string answer = solver.read(line);
    if (!line.is_question()) continue;
    ++questions;
    wrong += answer != answer_word(line.answer) ? 1 : 0;
  }
  return wrong;
}

class SimulatedTask : public testing::TestWithParam<int64_t> {};
class SupportedTask : public testing::TestWithParam<int64_t> {};

TEST_P(SimulatedTask, AReaderCanAnswerEveryQuestion) {
  int64_t questions = 0;
  for (int64_t index = 0; index < 200; ++index) {
    const BabiStory story = simulate_story(GetParam(), 7, index);
    EXPECT_EQ(wrong_answers(story, questions), 0) << story_text(story);
  }
  EXPECT_GE(questions, 200);
}

// The supporting lines are enough: without all the other statements the answer is the same.
TEST_P(SupportedTask, TheSupportingLinesAreEnough) {
  for (int64_t index = 0; index < 50; ++index) {
    const BabiStory story = simulate_story(GetParam(), 3, index);
    for (const BabiLine& line : story) {
      if (!line.is_question()) continue;
      test::StorySolver solver;
      const std::set<int64_t> support(line.support.begin(), line.support.end());
      ASSERT_FALSE(support.empty());
      for (int64_t number : support) {
        ASSERT_FALSE(story[number - 1].is_question());
        solver.read(story[number - 1]);
      }
      EXPECT_EQ(solver.read(line), answer_word(line.answer)) << line.text << "\n"
                                                             << story_text(story);
    }
  }
}

// As in the data set: where it was dropped, how it came to the place named, and where it was
// before.
TEST(BabiSimulator, ThreeFactsSupportThePlaceBefore) {
  for (int64_t index = 0; index < 50; ++index) {
    const BabiStory story = simulate_story(3, 3, index);
    for (const BabiLine& line : story) {
      if (!line.is_question()) continue;
      const auto words = babi_words(line.text);  // where was the apple before the office ?
      ASSERT_EQ(line.support.size(), 3u);
      const auto text = [&](size_t i) { return story[line.support[i] - 1].text; };
      EXPECT_THAT(text(0), testing::HasSubstr(words[3]));
      EXPECT_THAT(text(1), testing::HasSubstr(words[6]));
      EXPECT_THAT(text(2), testing::HasSubstr(line.answer));
      EXPECT_GT(line.support[1], line.support[2]);
    }
  }
}

TEST_P(SimulatedTask, IsAPureFunctionOfItsSeedAndNumber) {
  EXPECT_EQ(simulate_story(GetParam(), 1, 5), simulate_story(GetParam(), 1, 5));
  EXPECT_NE(simulate_story(GetParam(), 1, 5), simulate_story(GetParam(), 1, 6));
  EXPECT_NE(simulate_story(GetParam(), 1, 5), simulate_story(GetParam(), 2, 5));
}

// Task 3 does not name the line in which the object was taken.
INSTANTIATE_TEST_SUITE_P(AllButThree, SupportedTask,
                         testing::Values(1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
                                         19, 20));
INSTANTIATE_TEST_SUITE_P(All, SimulatedTask, testing::Range<int64_t>(1, 21));

TEST(BabiSimulator, WritesTheSameEverywhere) {
  EXPECT_EQ(story_text(simulate_story(4, 1, 0)),
            "1 The bathroom is north of the kitchen.\n2 The kitchen is north of the office.\n"
            "3 What is south of the bathroom?\tkitchen\t1\n");
  EXPECT_EQ(story_text(simulate_story(16, 1, 0)).substr(0, 35),
            "1 Greg is a rhino.\n2 Lily is gray.\n");
  Checksum all;
  for (int64_t task = 1; task <= kBabiTasks; ++task)
    for (int64_t index = 0, questions = 0; questions < 100; ++index) {
      const BabiStory story = simulate_story(task, 1, index);
      questions += std::ranges::count_if(story, &BabiLine::is_question);
      all.add(story_text(story));
    }
  EXPECT_EQ(all.hex(), "27e35ab0667993b0");
}

/// Share of each answer in 2000 questions.
std::map<std::string, double> answer_shares(int64_t task) {
  std::map<std::string, double> counts;
  double questions = 0;
  for (int64_t index = 0; questions < 2000; ++index)
    for (const BabiLine& line : simulate_story(task, 0, index))
      if (line.is_question()) {
        ++counts[line.answer];
        ++questions;
      }
  for (auto& [answer, count] : counts) count /= questions;
  return counts;
}

// As in the data set: rooms and colours as likely as each other, yes as often as no.
TEST(BabiSimulator, AnswersAreBalanced) {
  for (int64_t task : {1, 2, 3, 11, 12, 13}) {
    const auto shares = answer_shares(task);
    EXPECT_EQ(shares.size(), 6u) << task;
    for (const auto& [answer, share] : shares) EXPECT_NEAR(share, 1.0 / 6, 0.05) << answer;
  }
  for (int64_t task : {6, 17, 18}) {
    const auto shares = answer_shares(task);
    EXPECT_EQ(shares.size(), 2u) << task;
    EXPECT_NEAR(shares.at("yes"), 0.5, 0.06) << task;
  }
  EXPECT_EQ(answer_shares(19).size(), 12u);  // two steps, not back again
  EXPECT_NEAR(answer_shares(10).at("maybe"), 0.16, 0.05);
}

TEST(BabiSimulator, WritesFilesOfTheSizesAskedFor) {
  const test::TemporaryFolder folder;
  write_babi_folder(folder / "babi", 15, 1, {.training = 20, .validation = 8, .test = 4});
  const auto count = [&](const char* name) {
    StoryReader reader(folder.path() / "babi" / name);
    int64_t questions = 0;
    for (BabiStory story; reader.next(story);)
      for (const BabiLine& line : story) questions += line.is_question() ? 1 : 0;
    return questions;
  };
  EXPECT_EQ(count("qa15_train.txt"), 20);
  EXPECT_EQ(count("qa15_valid.txt"), 8);
  EXPECT_EQ(count("qa15_test.txt"), 4);
  EXPECT_NE(read_file(folder.path() / "babi/qa15_train.txt").substr(0, 200),
            read_file(folder.path() / "babi/qa15_valid.txt").substr(0, 200));
}

TEST(BabiSimulator, RefusesImpossibleTasks) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(simulate_story(0, 0, 0), UsageError);
  EXPECT_THROW(simulate_story(21, 0, 0), UsageError);
  EXPECT_THROW(write_babi_folder(folder.path(), 21, 0, {}), UsageError);
  EXPECT_THROW(write_babi_folder(folder.path(), 1, 0, {.test = 0}), UsageError);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace tessera::task
