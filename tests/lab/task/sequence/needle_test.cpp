#include "lab/task/needle/needle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

using test::message_of;
using testing::StartsWith;

constexpr NeedleKind kNeedleKinds[] = {NeedleKind::kOne, NeedleKind::kSeveral, NeedleKind::kOneName,
                                       NeedleKind::kReplaced};

/// A text in its own words: what was told of each name, in order, and what is asked.
struct ReadText {
  std::map<std::string, std::vector<std::string>> numbers;  ///< "4 7"
  std::vector<int64_t> places;                              ///< words before each number's sentence
  std::string asked;
  bool all = false;
};

ReadText read_text(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  ReadText result;
  for (size_t i = 0; i + 3 < words.size(); ++i) {
    if (words[i] != "secret") continue;
    result.all = words[i + 1] == "numbers";
    result.asked = words.at(i + 3);
    if (i + 5 >= words.size()) break;  // the question
    EXPECT_EQ(words.at(i + 7), ".");
    result.numbers[result.asked].push_back(words.at(i + 5) + " " + words.at(i + 6));
    result.places.push_back(i - 1);
  }
  return result;
}

TEST(Needle, AsksForWhatItsKindSays) {
  for (const NeedleKind kind : kNeedleKinds) {
    const Needle task({.kind = kind, .length = 160, .needles = 3});
    for (int64_t index = 0; index < 30; ++index) {
      const config::Json line = task.describe(7, index);
      const ReadText read = read_text(line["text"]);
      SCOPED_TRACE(line.dump());
      const auto& told = read.numbers.at(read.asked);
      size_t all = 0;
      for (const auto& [name, numbers] : read.numbers) all += numbers.size();
      const bool several = kind == NeedleKind::kSeveral;
      EXPECT_EQ(all, kind == NeedleKind::kOne ? 1u : kind == NeedleKind::kReplaced ? 2u : 3u);
      EXPECT_EQ(read.numbers.size(), several ? 3u : 1u);
      EXPECT_EQ(read.all, kind == NeedleKind::kOneName);
      std::string answer = told.back();
      if (read.all) answer = told[0] + " " + told[1] + " " + told[2];
      EXPECT_EQ(line["answer"], answer);
    }
  }
}

TEST(Needle, TokensEndWithTheAnswerButItsLastDigit) {
  for (const NeedleKind kind : kNeedleKinds) {
    const Needle task({.kind = kind, .length = 100, .needles = 4});
    const TaskSample sample = task.sample(1, 5);
    EXPECT_EQ(sample.steps, 100);
    EXPECT_EQ(std::ssize(sample.tokens), 100);
    EXPECT_EQ(sample.first_answer + sample.answers, sample.steps);
    EXPECT_EQ(std::ssize(sample.classes), sample.answers);
    EXPECT_TRUE(std::equal(sample.classes.begin(), sample.classes.end() - 1,
                           sample.tokens.begin() + sample.first_answer + 1));
    for (const int64_t token : sample.tokens)
      EXPECT_TRUE(0 <= token && token < task.shape().vocabulary);
    for (const int64_t digit : sample.classes) EXPECT_TRUE(1 <= digit && digit <= 10);
  }
}

TEST(Needle, MixedTextsAreOfEveryKind) {
  const Needle task({.length = 128, .needles = 3});
  std::map<int64_t, int> answers;
  int replaced = 0;
  for (int64_t index = 0; index < 100; ++index) {
    ++answers[task.sample(2, index).answers];
    const ReadText read = read_text(task.describe(2, index)["text"]);
    replaced += !read.all && read.numbers.at(read.asked).size() == 2;
  }
  EXPECT_EQ(answers.size(), 2u);  // one number, or three of one name
  EXPECT_NEAR(answers.at(6), 25, 15);
  EXPECT_NEAR(replaced, 25, 15);
}

TEST(Needle, TheNumberStandsAtItsDepthAtTheEndOfASentence) {
  for (const int64_t depth : {0, 50, 100}) {
    const Needle task({.kind = NeedleKind::kSeveral, .length = 600, .needles = 3, .depth = depth});
    for (int64_t index = 0; index < 10; ++index) {
      const config::Json line = task.describe(3, index);
      const std::string text = line["text"], answer = line["answer"];
      const ReadText read = read_text(text);
      const std::string sentence = "The secret number of " + read.asked + " is " + answer + " .";
      const size_t at = text.find(sentence);
      ASSERT_NE(at, std::string::npos) << line;
      if (at > 0) {
        EXPECT_EQ(text.substr(at - 2, 2), ". ") << line;
      }
      const double share = static_cast<double>(at) / static_cast<double>(text.size());
      EXPECT_NEAR(share, static_cast<double>(depth) / 100, 0.1) << line;
    }
  }
}

TEST(Needle, LevelsAreWhatTheStrategiesScore) {
  const Needle task({.kind = NeedleKind::kSeveral, .length = 100, .needles = 4});
  double right = 0, asked = 0;
  for (int64_t index = 0; index < 500; ++index) {
    const config::Json line = task.describe(9, index);
    const ReadText read = read_text(line["text"]);
    const std::string answer = line["answer"], first = read.numbers.begin()->second.front();
    right += (answer[0] == first[0]) + (answer[2] == first[2]);
    asked += 2;
  }
  const auto levels = task.levels();
  ASSERT_EQ(levels.size(), 2u);
  EXPECT_DOUBLE_EQ(levels[0].value, 0.1);
  EXPECT_NEAR(levels[1].value, (1 + 3.0 / 11) / 4, 1e-12);
  EXPECT_NEAR(right / asked, levels[1].value, 0.04);
  EXPECT_EQ(Needle({.kind = NeedleKind::kOne}).levels().size(), 1u);
}

TEST(Needle, RefusesWhatMakesNoSense) {
  const auto refusal = [](const NeedleConfig& config) {
    return message_of<UsageError>([&] { Needle{config}; });
  };
  EXPECT_EQ(refusal({.kind = NeedleKind::kOne, .length = 16}), "");
  EXPECT_THAT(refusal({.kind = NeedleKind::kOne, .length = 15}),
              StartsWith("task.length is 15, expected at least 16"));
  EXPECT_THAT(refusal({.length = 48}), StartsWith("task.length is 48, expected"));
  EXPECT_EQ(refusal({.length = 49}), "");
  EXPECT_THAT(refusal({.needles = 1}), StartsWith("task.needles is 1"));
  EXPECT_THAT(refusal({.kind = NeedleKind::kOne, .depth = 101}), StartsWith("task.depth is 101"));
  EXPECT_EQ(refusal({.depth = 50}),
            "task.depth says where one number stands; task.kind is 'mixed', expected 'one' or "
            "'several'");
}

}  // namespace
}  // namespace tessera::task
