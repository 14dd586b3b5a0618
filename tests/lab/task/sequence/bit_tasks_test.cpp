// Copy, priority sort and relational recall: what is asked of bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "lab/task/copy/copy.h"
#include "lab/task/priority_sort/priority_sort.h"
#include "lab/task/relational_recall/relational_recall.h"
#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

using test::message_of;
using testing::ElementsAre;

float at(const TaskSample& sample, int64_t step, int64_t channel) {
  const int64_t width = std::ssize(sample.inputs) / sample.steps;
  return sample.inputs.at(step * width + channel);
}

/// Bits of a row of the input, or of an answer, as text.
std::string input_bits(const TaskSample& sample, int64_t step, int64_t bits) {
  std::string text;
  for (int64_t i = 0; i < bits; ++i) text += at(sample, step, i) != 0 ? '1' : '0';
  return text;
}
std::string answer_bits(const TaskSample& sample, int64_t answer, int64_t bits) {
  std::string text;
  for (int64_t i = 0; i < bits; ++i) text += sample.bits.at(answer * bits + i) != 0 ? '1' : '0';
  return text;
}

float row_sum(const TaskSample& sample, int64_t step) {
  const int64_t width = std::ssize(sample.inputs) / sample.steps;
  float sum = 0;
  for (int64_t i = 0; i < width; ++i) sum += at(sample, step, i);
  return sum;
}

TEST(Copy, LaysOutMarkersVectorsAndSilence) {
  const Copy task({.bits = 3, .min_length = 2, .max_length = 2});
  EXPECT_EQ(task.shape().input_width, 5);
  EXPECT_EQ(task.shape().output_width, 3);
  const auto sample = task.sample(1, 0);
  ASSERT_EQ(sample.steps, 6);  // marker, 2 vectors, marker, 2 answers
  EXPECT_EQ(sample.first_answer, 4);
  EXPECT_EQ(sample.answers, 2);
  EXPECT_EQ(at(sample, 0, 3), 1);
  EXPECT_EQ(row_sum(sample, 0), 1);
  EXPECT_EQ(at(sample, 3, 4), 1);
  EXPECT_EQ(row_sum(sample, 3), 1);
  EXPECT_EQ(row_sum(sample, 4) + row_sum(sample, 5), 0);
  const std::vector<std::string> vectors = task.describe(1, 0)["vectors"];
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(input_bits(sample, 1 + i, 3), vectors[i]);
    EXPECT_EQ(answer_bits(sample, i, 3), vectors[i]);
  }
}

TEST(Copy, HasThePapersShapes) {
  const Copy task(CopyConfig{});
  std::set<int64_t> lengths;
  for (int64_t index = 0; index < 400; ++index) {
    const auto sample = task.sample(0, index);
    EXPECT_EQ(sample.steps, 2 * sample.answers + 2);
    EXPECT_EQ(std::ssize(sample.inputs), sample.steps * 34);
    EXPECT_EQ(std::ssize(sample.bits), sample.answers * 32);
    lengths.insert(sample.answers);
  }
  EXPECT_EQ(lengths.size(), 20u);
  EXPECT_EQ(*lengths.begin(), 1);
  EXPECT_EQ(*lengths.rbegin(), 20);
}

TEST(Copy, SamplesArePureFunctionsOfSeedAndNumber) {
  const Copy task({.bits = 8, .min_length = 1, .max_length = 3});
  EXPECT_EQ(task.sample(3, 5).inputs, task.sample(3, 5).inputs);
  EXPECT_NE(task.draw_sample(3, 5, 0).inputs, task.draw_sample(3, 6, 0).inputs);
  EXPECT_NE(task.draw_sample(3, 5, 0).inputs, task.draw_sample(4, 5, 0).inputs);
  // The same on every machine.
  EXPECT_EQ(task.describe(1, 0).dump(), R"({"index":0,"vectors":["01001000","11010010"]})");
  EXPECT_EQ(task.describe(1, 1).dump(), R"({"index":1,"vectors":["11111100"]})");
}

// Guesses of 100 samples of 1 to 10 vectors of 16 bits are 44 wrong bits each, not more or less.
TEST(Copy, LengthsAreBalanced) {
  const Copy task({.bits = 16, .min_length = 1, .max_length = 10});
  std::map<int64_t, int> lengths;
  for (int64_t index = 0; index < 100; ++index) ++lengths[task.sample(1, index).answers];
  EXPECT_EQ(lengths.size(), 10u);
  for (const auto& [length, count] : lengths) EXPECT_EQ(count, 10) << length;
}

TEST(Copy, ABatchTakesTheLengthOfItsFirstSample) {
  const Copy task({.bits = 4, .min_length = 1, .max_length = 9});
  const auto first = task.draw_sample(0, 0, 0);
  for (int64_t index = 1; index < 20; ++index) {
    EXPECT_EQ(task.draw_sample(0, index, 0).steps, first.steps);
    // What a sample holds does not depend on the size: the shorter is a prefix.
    const auto own = task.rows(0, index, index), shared = task.rows(0, index, 0);
    const size_t common = std::min(own.size(), shared.size());
    EXPECT_TRUE(std::equal(own.begin(), own.begin() + common, shared.begin()));
  }
}

// 3000 samples of 8 bits: 24000 fair coins, 12000 give or take five standard deviations (77 each).
TEST(Copy, BitsAreFair) {
  const Copy task({.bits = 8, .min_length = 1, .max_length = 1});
  double ones = 0;
  for (int64_t index = 0; index < 3000; ++index)
    for (float bit : task.sample(0, index).bits) ones += bit;
  EXPECT_NEAR(ones, 12000, 390);
}

TEST(Copy, WideVectorsHaveMoreThanOneWordOfBits) {
  const auto rows = Copy({.bits = 130, .min_length = 1, .max_length = 1}).rows(0, 0, 0);
  ASSERT_EQ(rows[0].size(), 130u);
  EXPECT_NE(std::vector(rows[0].begin(), rows[0].begin() + 64),
            std::vector(rows[0].begin() + 64, rows[0].begin() + 128));
}

TEST(Copy, ChanceIsHalfOfTheBits) {
  EXPECT_DOUBLE_EQ(Copy(CopyConfig{}).levels().at(0).value, 168);  // 16 · 10.5
}

TEST(Copy, RefusesImpossibleSizes) {
  EXPECT_THROW(Copy({.bits = 0}), UsageError);
  EXPECT_THROW(Copy({.min_length = 0}), UsageError);
  EXPECT_THROW(Copy({.min_length = 3, .max_length = 2}), UsageError);
  EXPECT_THROW(Copy({.max_length = 65537}), UsageError);
  EXPECT_EQ(message_of<UsageError>([] { Copy({.bits = -2}); }),
            "task.bits is -2, expected a whole number from 1 to 65536");
}

TEST(PrioritySort, OrdersByPriorityAndKeepsTheOrderOfEqualOnes) {
  const std::vector<float> priorities = {0.5F, -1.0F, 0.75F, 0.5F, 0.0F};
  EXPECT_THAT(highest_priorities(priorities, 5), ElementsAre(2, 0, 3, 4, 1));
  EXPECT_THAT(highest_priorities(priorities, 2), ElementsAre(2, 0));
  EXPECT_THAT(highest_priorities(priorities, 0), ElementsAre());
  EXPECT_THROW(highest_priorities(priorities, 6), UsageError);
}

TEST(PrioritySort, AnswersAreVectorsInDescendingPriority) {
  const PrioritySort task(PrioritySortConfig{});
  for (int64_t index = 0; index < 20; ++index) {
    const auto sample = task.sample(2, index);
    ASSERT_EQ(sample.steps, 36);
    EXPECT_EQ(sample.first_answer, 20);
    EXPECT_EQ(std::ssize(sample.bits), 16 * 32);
    // Each answer is the vector of some input row; their priorities descend.
    float last = 2;
    for (int64_t answer = 0; answer < 16; ++answer) {
      int64_t place = 0;
      while (input_bits(sample, place, 32) != answer_bits(sample, answer, 32)) ++place;
      ASSERT_LT(place, 20);
      EXPECT_LE(at(sample, place, 32), last);
      last = at(sample, place, 32);
    }
    // The four that are left out have no higher priority.
    int above = 0;
    for (int64_t place = 0; place < 20; ++place) above += at(sample, place, 32) > last ? 1 : 0;
    EXPECT_EQ(above, 15);
    for (int64_t step = 20; step < 36; ++step) EXPECT_EQ(row_sum(sample, step), 0);
  }
}

TEST(PrioritySort, PrioritiesAreUniform) {
  const PrioritySort task({.bits = 1, .vectors = 1000, .answers = 1});
  const std::vector<float> priorities = task.describe(0, 0)["priorities"];
  double sum = 0, squares = 0;
  for (float p : priorities) {
    EXPECT_GE(p, -1);
    EXPECT_LT(p, 1);
    sum += p;
    squares += p * p;
  }
  EXPECT_NEAR(sum / 1000, 0, 0.1);             // standard error 0.018
  EXPECT_NEAR(squares / 1000, 1.0 / 3, 0.05);  // standard error 0.009
}

// Numbers from -1 to 1 with gaps of g are numbers of a range of 2 - (n - 1) g, moved apart: the
// lowest of n is 1 / (n + 1) of that range above -1 in the mean.
TEST(PrioritySort, PrioritiesKeepTheirDistance) {
  const PrioritySort task({.bits = 1, .vectors = 5, .answers = 5, .least_gap = 0.3});
  double lowest = 0;
  for (int64_t index = 0; index < 1000; ++index) {
    std::vector<float> priorities = task.describe(0, index)["priorities"];
    std::sort(priorities.begin(), priorities.end());
    for (size_t i = 1; i < 5; ++i) EXPECT_GT(priorities[i] - priorities[i - 1], 0.3 - 1e-6);
    EXPECT_GE(priorities.front(), -1);
    EXPECT_LT(priorities.back(), 1);
    lowest += (priorities.front() + 1) / 1000;
  }
  EXPECT_NEAR(lowest, 0.8 / 6, 0.02);  // standard error 0.0036
  EXPECT_DOUBLE_EQ(task.levels().at(1).value, 0);
}

TEST(PrioritySort, DescribesItsAnswerAndItsChance) {
  EXPECT_EQ(
      PrioritySort({.bits = 2, .vectors = 3, .answers = 2}).describe(1, 0).dump(),
      R"({"index":0,"vectors":["01","11","11"],"priorities":[-0.295198,0.32595015,-0.62734544],"answer":[1,0]})");
  EXPECT_DOUBLE_EQ(PrioritySort(PrioritySortConfig{}).levels().at(0).value, 256);
}

// Two priorities fall into one of 200 steps with probability 1/200, and half of such pairs then
// stand in the wrong order: both places hold another vector.
TEST(PrioritySort, LevelOfPrioritiesThatAreReadInSteps) {
  const auto of_pairs = PrioritySort({.bits = 8, .vectors = 2, .answers = 2}).levels().at(1);
  EXPECT_EQ(of_pairs.strategy, "sort, reading priorities in steps of 0.01");
  EXPECT_NEAR(of_pairs.value, 2 * 4 / 200.0 / 2, 0.004);  // 200,000 pairs: standard error 0.0009
  EXPECT_DOUBLE_EQ(PrioritySort({.bits = 8, .vectors = 1, .answers = 1}).levels().at(1).value, 0);
}

TEST(PrioritySort, RefusesImpossibleSizes) {
  EXPECT_THROW(PrioritySort({.bits = 0}), UsageError);
  EXPECT_THROW(PrioritySort({.vectors = 0}), UsageError);
  EXPECT_THROW(PrioritySort({.vectors = 4, .answers = 5}), UsageError);
  EXPECT_THROW(PrioritySort({.answers = 0}), UsageError);
  EXPECT_THROW(PrioritySort({.least_gap = -0.1}), UsageError);
  EXPECT_THROW(PrioritySort({.vectors = 5, .answers = 5, .least_gap = 0.5}), UsageError);
}

TEST(RelationalRecall, ChoosesByTheLastBitOfTheQuery) {
  const std::vector<BitRows> items = {{{0, 0, 0}}, {{1, 1, 1}}, {{0, 0, 1}}, {{0, 1, 0}}};
  EXPECT_EQ(recalled_item(items, 0), 2u);  // last bit 0, closest: 1 bit away, as is item 3
  EXPECT_EQ(recalled_item(items, 1), 0u);  // last bit 1, farthest: 3 bits away
  EXPECT_EQ(recalled_item(items, 2), 1u);  // farthest: items 1 and 3 are 2 bits away
  EXPECT_EQ(recalled_item(items, 3), 0u);
  EXPECT_THROW(recalled_item({items[0]}, 0), UsageError);
  EXPECT_THROW(recalled_item(items, 4), UsageError);
  EXPECT_THROW(recalled_item({{{0}}, {{0, 1}}}, 0), UsageError);
}

TEST(RelationalRecall, ADistanceIsOverTheWholeItem) {
  // Two vectors each; item 2 differs from the query by 2 bits, item 1 by 3.
  const std::vector<BitRows> items = {{{0, 0}, {0, 0}}, {{1, 1}, {1, 0}}, {{0, 0}, {1, 1}}};
  EXPECT_EQ(recalled_item(items, 0), 2u);
}

TEST(RelationalRecall, LaysOutTheAuthorsForm) {
  const RelationalRecall task({.form = RelationalRecallForm::kAuthors});
  std::set<int64_t> lengths;
  for (int64_t index = 0; index < 100; ++index) {
    const auto sample = task.sample(1, index);
    const int64_t length = sample.answers;
    lengths.insert(length);
    ASSERT_EQ(sample.first_answer, 4 * (length + 1) + 1);
    ASSERT_EQ(sample.steps, sample.first_answer + length);
    for (int64_t item = 0; item < 3; ++item) EXPECT_EQ(at(sample, item * (length + 1), 32), 1);
    EXPECT_EQ(at(sample, 3 * (length + 1), 33), 1);
    EXPECT_EQ(at(sample, sample.first_answer - 1, 33), 1);
    const auto json = task.describe(1, index);
    EXPECT_EQ(json["items"].size(), 3u);
    EXPECT_LT(json["query"].get<int>(), 2);
    // The query repeats its item, and the answer is the item named.
    const std::vector<std::vector<std::string>> items = json["items"];
    for (int64_t row = 0; row < length; ++row) {
      EXPECT_EQ(input_bits(sample, 3 * (length + 1) + 1 + row, 32), items[json["query"]][row]);
      EXPECT_EQ(answer_bits(sample, row, 32), items[json["answer"]][row]);
    }
  }
  EXPECT_THAT(lengths, ElementsAre(2, 3, 4, 5));
}

TEST(RelationalRecall, TheIntendedFormDrawsTheNumberOfItems) {
  const RelationalRecall task(RelationalRecallConfig{});
  std::set<size_t> items, queries;
  int farthest = 0;
  for (int64_t index = 0; index < 400; ++index) {
    const auto json = task.describe(0, index);
    items.insert(json["items"].size());
    queries.insert(json["query"].get<size_t>());
    farthest += json["asks_for"] == "farthest" ? 1 : 0;
    EXPECT_EQ(json["items"][0].size(), 3u);
    // The answer is as far as asked for, by a count of its own.
    int64_t best = -1;
    for (size_t i = 0; i < json["items"].size(); ++i) {
      if (i == json["query"].get<size_t>()) continue;
      int64_t bits = 0;
      for (size_t row = 0; row < 3; ++row) {
        const std::string a = json["items"][i][row],
                          b = json["items"][json["query"].get<size_t>()][row];
        for (size_t c = 0; c < a.size(); ++c) bits += a[c] != b[c] ? 1 : 0;
      }
      EXPECT_EQ(json["bits_apart"][i], bits);
      const bool better = json["asks_for"] == "farthest" ? bits > best : bits < best;
      if (best < 0 || better) best = bits;
    }
    EXPECT_EQ(json["bits_apart"][json["answer"].get<size_t>()], best);
  }
  EXPECT_THAT(items, ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(queries, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_NEAR(farthest, 200, 50);  // five standard deviations of 10
}

TEST(RelationalRecall, ABatchSharesSizesAndInTheAuthorsFormTheQuery) {
  const RelationalRecall authors({.form = RelationalRecallForm::kAuthors});
  for (int64_t index = 1; index < 10; ++index) {
    const auto first = authors.draw_sample(0, 0, 0), other = authors.draw_sample(0, index, 0);
    ASSERT_EQ(first.steps, other.steps);
    const int64_t length = first.answers, query = authors.describe(0, 0)["query"];
    for (int64_t row = 0; row < length; ++row)
      EXPECT_EQ(input_bits(other, 3 * (length + 1) + 1 + row, 32),
                input_bits(other, query * (length + 1) + 1 + row, 32));
  }
}

// Sample 0 of 200 seeds: each of four lengths with each of two queries.
TEST(RelationalRecall, InTheAuthorsFormNoLengthTellsTheQuery) {
  const RelationalRecall task({.form = RelationalRecallForm::kAuthors});
  std::set<std::pair<size_t, int>> drawn;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto json = task.describe(seed, 0);
    drawn.emplace(json["items"][0].size(), json["query"].get<int>());
  }
  EXPECT_EQ(drawn.size(), 8u);
}

TEST(RelationalRecall, LevelsAreThoseOfTheSpecification) {
  const auto levels = RelationalRecall({.form = RelationalRecallForm::kAuthors}).levels();
  EXPECT_DOUBLE_EQ(levels.at(0).value, 56);  // 32 / 2 bits of 3.5 vectors
  EXPECT_DOUBLE_EQ(levels.at(1).value, 28);  // the wrong one of two candidates half of the time
  // Intended: 3 vectors; with 2 items there is no wrong one, with 5 it is wrong 3 times of 4. Of
  // more than two candidates the answer differs from the others in a little more than half.
  const double half_differ = 48 * (0 + 1.0 / 2 + 2.0 / 3 + 3.0 / 4) / 4;
  EXPECT_NEAR(RelationalRecall(RelationalRecallConfig{}).levels().at(1).value, half_differ + 0.029,
              0.001);
}

/// Wrong bits in the mean over all items of so few bits, all queries and all other items.
double counted_level(size_t items, size_t bits) {
  double wrong = 0, answers = 0;
  for (size_t code = 0; code < size_t{1} << (items * bits); ++code) {
    std::vector<BitRows> drawn(items, {BitRow(bits)});
    for (size_t bit = 0; bit < items * bits; ++bit)
      drawn[bit / bits][0][bit % bits] = code >> bit & 1;
    for (size_t query = 0; query < items; ++query)
      for (size_t other = 0; other < items; ++other) {
        if (other == query) continue;
        wrong +=
            static_cast<double>(hamming_distance(drawn[other], drawn[recalled_item(drawn, query)]));
        ++answers;
      }
  }
  return wrong / answers;
}

TEST(RelationalRecall, TheLevelOfAnotherItemIsThatOfAllItemsCounted) {
  for (const auto& [items, bits] : {std::pair(2, 3), {3, 3}, {4, 3}, {5, 2}}) {
    const RelationalRecall task({.bits = bits, .fixed = 1, .min_drawn = items, .max_drawn = items});
    EXPECT_NEAR(task.levels().at(1).value, counted_level(items, bits), 1e-12)
        << items << " " << bits;
  }
  EXPECT_NEAR(counted_level(5, 2), 0.8125, 1e-12);  // half of the bits in 3 of 4: 0.75
}

// Measured: answering with another item at random costs what the level says.
TEST(RelationalRecall, TheLevelOfAnotherItemIsWhatItCosts) {
  const RelationalRecall task({.form = RelationalRecallForm::kAuthors});
  double wrong = 0;
  constexpr int kSamples = 3000;
  for (int64_t index = 0; index < kSamples; ++index) {
    const auto json = task.describe(0, index);
    // The third item is the other candidate or the answer, whatever the query is.
    const std::vector<std::vector<std::string>> items = json["items"];
    for (size_t row = 0; row < items[2].size(); ++row)
      for (size_t c = 0; c < 32; ++c)
        wrong += items[2][row][c] != items[json["answer"]][row][c] ? 1 : 0;
  }
  EXPECT_NEAR(wrong / kSamples, 28, 2.8);  // standard deviation 30 of a sample: five of 0.55
}

// Measured on other samples, by rules written in their texts.
TEST(RelationalRecall, LevelsOfSimpleRulesAreWhatTheyCost) {
  const RelationalRecall task({.bits = 8, .fixed = 1, .min_drawn = 3, .max_drawn = 3});
  double first_wrong = 0, first_faultless = 0, most_wrong = 0;
  constexpr int kSamples = 4000;
  for (int64_t index = 0; index < kSamples; ++index) {
    const auto json = task.describe(7, index);
    const auto item = [&](size_t place) { return json["items"][place][0].get<std::string>(); };
    const size_t query = json["query"];
    const std::string one = item((query + 1) % 3), other = item((query + 2) % 3);
    const std::string answer = item(json["answer"]), first = item(query == 0 ? 1 : 0);
    first_faultless += first == answer ? 1 : 0;
    for (size_t i = 0; i < 8; ++i) {
      const bool as_query = json["asks_for"] == "closest";
      const char likely = as_query == (item(query)[i] == '1') ? '1' : '0';
      first_wrong += first[i] != answer[i] ? 1 : 0;
      most_wrong += (one[i] == other[i] ? one[i] : likely) != answer[i] ? 1 : 0;
    }
  }
  const auto levels = task.levels();
  EXPECT_NEAR(first_wrong / kSamples, levels.at(2).value, 0.2);  // standard error 0.035
  EXPECT_NEAR(first_faultless / kSamples, *levels.at(2).faultless, 0.045);
  EXPECT_NEAR(most_wrong / kSamples, levels.at(3).value, 0.1);  // standard error 0.02
}

TEST(RelationalRecall, RefusesImpossibleSizes) {
  EXPECT_THROW(RelationalRecall({.bits = 0}), UsageError);
  EXPECT_THROW(RelationalRecall({.min_drawn = 1}), UsageError);  // one item has no other
  EXPECT_NO_THROW(RelationalRecall({.form = RelationalRecallForm::kAuthors, .min_drawn = 1}));
  EXPECT_THROW(RelationalRecall({.form = RelationalRecallForm::kAuthors, .fixed = 1}), UsageError);
  EXPECT_THROW(RelationalRecall({.min_drawn = 5, .max_drawn = 4}), UsageError);
  EXPECT_THROW(RelationalRecall({.fixed = 0}), UsageError);
}

}  // namespace
}  // namespace tessera::task
