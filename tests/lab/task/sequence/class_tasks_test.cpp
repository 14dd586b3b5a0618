// Associative retrieval and N-th farthest: one of several classes at the last step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "lab/task/associative_retrieval/associative_retrieval.h"
#include "lab/task/nth_farthest/nth_farthest.h"
#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

using test::message_of;
using testing::ElementsAre;

TEST(AssociativeRetrieval, HasThePapersLengths) {
  for (const auto& [pairs, steps] :
       {std::pair<int64_t, int64_t>{14, 31}, {24, 51}, {4, 11}, {1, 5}}) {
    const auto sample = AssociativeRetrieval({.pairs = pairs}).sample(0, 0);
    EXPECT_EQ(sample.steps, steps);
    EXPECT_EQ(std::ssize(sample.tokens), steps);
    EXPECT_TRUE(sample.inputs.empty());
    EXPECT_EQ(sample.first_answer, steps - 1);
    EXPECT_EQ(sample.answers, 1);
  }
  const auto shape = AssociativeRetrieval(AssociativeRetrievalConfig{}).shape();
  EXPECT_EQ(shape.vocabulary, 37);
  EXPECT_EQ(shape.output_width, 10);
}

TEST(AssociativeRetrieval, AsksForADigitThatCameWithItsKey) {
  const AssociativeRetrieval task({.pairs = 24});
  std::map<int64_t, int> answers, places;
  constexpr int kSamples = 2000;
  for (int64_t index = 0; index < kSamples; ++index) {
    const auto sample = task.sample(7, index);
    std::map<int64_t, int64_t> digits;
    for (size_t i = 0; i < 48; i += 2) {
      EXPECT_TRUE(sample.tokens[i] >= 10 && sample.tokens[i] < 36);
      EXPECT_TRUE(sample.tokens[i + 1] >= 0 && sample.tokens[i + 1] < 10);
      digits[sample.tokens[i]] = sample.tokens[i + 1];
      if (sample.tokens[i] == sample.tokens[50]) ++places[static_cast<int64_t>(i / 2)];
    }
    EXPECT_EQ(digits.size(), 24u);  // no key comes twice
    EXPECT_EQ(sample.tokens[48], 36);
    EXPECT_EQ(sample.tokens[49], 36);
    EXPECT_EQ(sample.classes[0], digits.at(sample.tokens[50]));
    ++answers[sample.classes[0]];
  }
  // Each digit 200 times, each place 83 times, give or take five standard deviations.
  ASSERT_EQ(answers.size(), 10u);
  for (const auto& [digit, count] : answers) EXPECT_NEAR(count, 200, 68) << digit;
  ASSERT_EQ(places.size(), 24u);
  for (const auto& [place, count] : places) EXPECT_NEAR(count, 83.3, 45) << place;
}

TEST(AssociativeRetrieval, TheNumberOfPairsMayBeDrawnForABatch) {
  const AssociativeRetrieval task({.pairs = 4, .min_pairs = 2});
  std::set<int64_t> steps;
  for (int64_t index = 0; index < 50; ++index) {
    const auto sample = task.sample(0, index);
    steps.insert(sample.steps);
    EXPECT_EQ(task.draw_sample(0, 99, index).steps, sample.steps);
    const auto key = std::find(sample.tokens.begin(), sample.tokens.end(), sample.tokens.back());
    EXPECT_EQ(*(key + 1), sample.classes.front());
  }
  EXPECT_EQ(steps, (std::set<int64_t>{7, 9, 11}));
  EXPECT_EQ(message_of<UsageError>([] { AssociativeRetrieval({.pairs = 4, .min_pairs = 5}); }),
            "task.min_pairs is 5, expected a whole number from 0 to 4");
}

TEST(AssociativeRetrieval, DescribesItselfTheSameEverywhere) {
  const AssociativeRetrieval task({.pairs = 3});
  EXPECT_EQ(task.describe(1, 0).dump(),
            R"({"index":0,"tokens":["w","6","u","9","j","1","?","?","w"],"answer":6})");
  EXPECT_EQ(task.token_text(0), "0");
  EXPECT_EQ(task.token_text(10), "a");
  EXPECT_EQ(task.token_text(36), "?");
  EXPECT_EQ(AssociativeRetrieval({.pairs = 3, .keys = 30}).token_text(36), "key26");
}

TEST(AssociativeRetrieval, ThePlateauIsTheMostFrequentDigit) {
  EXPECT_DOUBLE_EQ(most_frequent_digit_share(1), 1);
  EXPECT_NEAR(most_frequent_digit_share(2), (1 * 0.9 + 2 * 0.1) / 2, 1e-12);
  // By enumeration of all 10^4 draws of four digits.
  double share = 0;
  for (int draw = 0; draw < 10000; ++draw) {
    std::array<int, 10> counts{};
    for (int rest = draw, i = 0; i < 4; ++i, rest /= 10) ++counts.at(rest % 10);
    share += *std::max_element(counts.begin(), counts.end()) / 4.0 / 10000;
  }
  EXPECT_NEAR(most_frequent_digit_share(4), share, 1e-12);
  EXPECT_NEAR(share, 0.383, 0.001);
  // Counted in 4000 samples. It has to be quick: the report of a training waits for it.
  EXPECT_NEAR(most_frequent_digit_share(1000), 0.1156, 0.0005);
  const auto levels = AssociativeRetrieval({.pairs = 4}).levels();
  EXPECT_DOUBLE_EQ(levels.at(0).value, 0.1);
  EXPECT_DOUBLE_EQ(levels.at(1).value, most_frequent_digit_share(4));
  EXPECT_THROW(most_frequent_digit_share(0), UsageError);
}

// Measured: sequences of two to four pairs, each number as often.
TEST(AssociativeRetrieval, ThePlateauIsThatOfAllNumbersOfPairs) {
  const AssociativeRetrieval task({.pairs = 4, .min_pairs = 2});
  double right = 0;
  constexpr int kSamples = 6000;
  for (int64_t index = 0; index < kSamples; ++index) {
    const auto sample = task.sample(1, index);
    std::array<int, 10> counts{};
    for (size_t i = 1; i + 3 < sample.tokens.size(); i += 2) ++counts.at(sample.tokens[i]);
    right +=
        std::max_element(counts.begin(), counts.end()) - counts.begin() == sample.classes.front();
  }
  EXPECT_NEAR(right / kSamples, task.levels().at(1).value, 0.032);  // standard error 0.0064
}

TEST(AssociativeRetrieval, RefusesImpossibleSizes) {
  EXPECT_THROW(AssociativeRetrieval({.pairs = 0}), UsageError);
  EXPECT_THROW(AssociativeRetrieval({.pairs = 1, .keys = 1001}), UsageError);
  EXPECT_NO_THROW(AssociativeRetrieval({.pairs = 26}));
  EXPECT_EQ(message_of<UsageError>([] { AssociativeRetrieval({.pairs = 27}); }),
            "task.pairs is 27, expected a whole number from 1 to 26");
}

TEST(NthFarthest, RanksByDistance) {
  const std::vector<std::vector<float>> vectors = {{0, 0}, {3, 4}, {1, 0}, {0, -6}};
  EXPECT_THAT(farthest_first(vectors, 0), ElementsAre(3, 1, 2, 0));  // 6, 5, 1, itself
  EXPECT_THAT(farthest_first(vectors, 3), ElementsAre(1, 2, 0, 3));  // √109, √37, 6
  // Equal distances in the order of the input; an equal vector before the reference itself.
  EXPECT_THAT(farthest_first({{0}, {1}, {-1}, {0}}, 3), ElementsAre(1, 2, 0, 3));
  EXPECT_THROW(farthest_first(vectors, 4), UsageError);
}

TEST(NthFarthest, LaysOutVectorLabelAndQuestion) {
  const NthFarthest task(NthFarthestConfig{});
  EXPECT_EQ(task.shape().input_width, 40);
  EXPECT_EQ(task.shape().output_width, 8);
  std::map<int64_t, int> answers;
  for (int64_t index = 0; index < 2000; ++index) {
    const auto sample = task.sample(3, index);
    ASSERT_EQ(sample.steps, 8);
    EXPECT_EQ(sample.first_answer, 7);
    ASSERT_EQ(sample.classes.size(), 1u);
    ++answers[sample.classes[0]];

    const auto hot = [&](size_t row, size_t begin) {
      const auto first = sample.inputs.begin() + row * 40 + begin;
      EXPECT_EQ(std::count(first, first + 8, 1.0F), 1);
      return static_cast<size_t>(std::find(first, first + 8, 1.0F) - first);
    };
    const size_t k = hot(0, 24), m = hot(0, 32);
    std::map<size_t, size_t> row_of;
    for (size_t row = 0; row < 8; ++row) {
      row_of[hot(row, 16)] = row;
      EXPECT_EQ(hot(row, 24), k);
      EXPECT_EQ(hot(row, 32), m);
    }
    ASSERT_EQ(row_of.size(), 8u);
    // The label of the answer: exactly k vectors are farther from m's.
    const auto distance = [&](size_t row) {
      double sum = 0;
      for (size_t c = 0; c < 16; ++c)
        sum += std::pow(sample.inputs[row * 40 + c] - sample.inputs[row_of[m] * 40 + c], 2);
      return sum;
    };
    const double asked = distance(row_of.at(sample.classes[0]));
    size_t farther = 0;
    for (size_t row = 0; row < 8; ++row) farther += distance(row) > asked ? 1 : 0;
    EXPECT_EQ(farther, k);
    EXPECT_EQ(static_cast<size_t>(sample.classes[0]) == m, k == 7);
  }
  for (const auto& [label, count] : answers) EXPECT_NEAR(count, 250, 74) << label;
}

TEST(NthFarthest, DescribesItselfTheSameEverywhere) {
  EXPECT_EQ(
      NthFarthest({.vectors = 2, .dimension = 1}).describe(1, 0).dump(),
      R"({"index":0,"vectors":[[-0.4803957],[-0.14347105]],"labels":[1,0],"k":1,"m":0,"labels_farthest_first":[1,0],"answer":0})");
}

TEST(NthFarthest, ThePlateauIsAQuarterOfThePapersSize) {
  const auto levels = NthFarthest(NthFarthestConfig{}).levels();
  EXPECT_DOUBLE_EQ(levels.at(0).value, 0.125);
  EXPECT_DOUBLE_EQ(levels.at(1).value, 0.25);
}

// Measured on other samples: m where k = 2, else the longer or the shorter of the others.
TEST(NthFarthest, TheLevelOfLengthsIsWhatTheyScore) {
  const NthFarthest task({.vectors = 3, .dimension = 2});
  double right = 0;
  constexpr int kSamples = 4000;
  for (int64_t index = 0; index < kSamples; ++index) {
    const auto json = task.describe(5, index);
    std::map<double, int64_t, std::greater<>> labels;  // by length, longest first
    for (size_t i = 0; i < 3; ++i)
      if (const int64_t label = json["labels"][i]; label != json["m"])
        labels[std::hypot(json["vectors"][i][0].get<double>(),
                          json["vectors"][i][1].get<double>())] = label;
    const int64_t k = json["k"];
    right += json["answer"] ==
             (k == 2 ? json["m"].get<int64_t>() : std::next(labels.begin(), k)->second);
  }
  EXPECT_NEAR(right / kSamples, task.levels().at(2).value, 0.04);  // standard error 0.008
}

TEST(NthFarthest, RefusesImpossibleSizes) {
  EXPECT_THROW(NthFarthest({.vectors = 1}), UsageError);
  EXPECT_THROW(NthFarthest({.dimension = 0}), UsageError);
  EXPECT_THROW(NthFarthest({.vectors = 5000}), UsageError);
}

}  // namespace
}  // namespace tessera::task
