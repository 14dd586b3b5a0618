#include "tessera/memo/bound_window_predictor.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tests/memo/texts.h"

namespace tessera::memo {
namespace {

using Documents = std::vector<std::vector<int32_t>>;

using test::windows_of;

TEST(BoundWindows, WriteEachPairOnceADocument) {
  const Documents text = {{0, 1, 2, 0, 1, 2, 0, 1, 3}};
  const BoundWindowPredictor predictor(text, windows_of(2, 1, 4), 100, 1);
  EXPECT_EQ(predictor.associations(), 4);  // 01-2, 12-0, 20-1, 01-3
  EXPECT_EQ(predictor.probes(), 7);
  // 01 is followed by 2 twice and by 3 once, written once each: three of seven are coin tosses.
  EXPECT_DOUBLE_EQ(predictor.floor(), 1.5 / 7);
  EXPECT_NEAR(predictor.error(100000).mean, 1.5 / 7, 0.05);
}

TEST(BoundWindows, DocumentsDoNotRunIntoEachOther) {
  const BoundWindowPredictor predictor(Documents{{0, 1, 2}, {3, 1}, {0, 1, 2}}, windows_of(2, 1, 4),
                                       100, 1);
  EXPECT_EQ(predictor.associations(), 2);  // 01-2 of two documents
  EXPECT_EQ(predictor.probes(), 2);
  EXPECT_EQ(predictor.floor(), 0);
}

TEST(BoundWindows, WhatMoreDocumentsSayIsRecalled) {
  // 01 goes on with 2 in two documents, with 3 in one.
  const Documents texts = {{0, 1, 2}, {0, 1, 2}, {0, 1, 3}};
  EXPECT_DOUBLE_EQ(BoundWindowPredictor(texts, windows_of(2, 1, 4), 100, 1).floor(), 1.0 / 3);
}

TEST(BoundWindows, OneOfSeveralEquallyGoodTokensIsRight) {
  // 01 goes on with 2, 3 and 4.
  const Documents text = {{0, 1, 2, 0, 1, 3, 0, 1, 4}};
  const BoundWindowPredictor predictor(text, windows_of(2, 1, 5), 100, 1);
  EXPECT_DOUBLE_EQ(predictor.floor(), 3 * (2.0 / 3) / 7);
  EXPECT_NEAR(predictor.error(100000).mean, predictor.floor(), 0.05);
}

TEST(BoundWindows, TheLongestWindowDecides) {
  // 12 goes on with 3 after 0, with 4 after 5.
  const Documents text = {{0, 0, 1, 2, 3, 5, 5, 1, 2, 4}};
  EXPECT_DOUBLE_EQ(BoundWindowPredictor(text, windows_of(2, 1, 6), 100, 1).floor(), 1.0 / 8);
  EXPECT_DOUBLE_EQ(BoundWindowPredictor(text, windows_of(2, 2, 6), 100, 1).floor(), 0);
}

TEST(BoundWindows, TheSmallestDimensionReachesTheError) {
  const Documents text = {test::random_tokens(3, 2000, 200)};
  const BoundWindowPredictor predictor(text, windows_of(4, 3, 200), 500, 1);
  const int64_t dimension = predictor.smallest_dimension(0.05, 32);
  EXPECT_EQ(dimension % 32, 0);
  const Spread error = predictor.error(dimension);
  EXPECT_LE(error.mean + error.standard_error(), 0.05);
  const Spread larger = predictor.error(dimension - 32);
  EXPECT_GT(larger.mean + larger.standard_error(), 0.05);
  EXPECT_EQ(predictor.error(dimension), predictor.error(dimension));
}

TEST(BoundWindows, RefusesWhatMakesNoSense) {
  const Documents text = {{0, 1, 2, 3}};
  EXPECT_THROW(BoundWindowPredictor(text, windows_of(0, 1, 4), 10, 1), UsageError);
  EXPECT_THROW(BoundWindowPredictor(text, windows_of(2, 0, 4), 10, 1), UsageError);
  EXPECT_THROW(BoundWindowPredictor(text, windows_of(2, 17, 4), 10, 1), UsageError);
  EXPECT_THROW(BoundWindowPredictor(text, windows_of(2, 1, 3), 10, 1), UsageError);
  EXPECT_THROW(BoundWindowPredictor(text, windows_of(2, 1, 0), 10, 1), UsageError);
  EXPECT_THROW(BoundWindowPredictor(text, windows_of(4, 1, 4), 10, 1), UsageError);
  EXPECT_THROW(BoundWindowPredictor({}, windows_of(4, 1, 4), 10, 1), UsageError);
  EXPECT_THROW(
      BoundWindowPredictor(text, {.heads = 2, .layers = 1, .shards = 0, .vocabulary = 4}, 10, 1),
      UsageError);
  EXPECT_THROW(BoundWindowPredictor(text, windows_of(2, 1, 4), 10, 1).error(1), UsageError);
  EXPECT_THROW(BoundWindowPredictor(text, windows_of(2, 1, 4), 10, 1).smallest_dimension(0.1, 0),
               UsageError);
}

}  // namespace
}  // namespace tessera::memo
