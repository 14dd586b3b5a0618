#include "tessera/memo/text_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/memo/likelihood_decoder.h"
#include "tessera/memo/text_memory.h"
#include "tests/memo/memory_forms.h"
#include "tests/memo/texts.h"

namespace tessera::memo {
namespace {

using test::pieces_of;
using test::random_tokens;

class TextReaderTest : public MemoryFormTest {};

INSTANTIATE_TEST_SUITE_P(Forms, TextReaderTest, testing::ValuesIn(kMemoryForms), name_of_form);

TEST_P(TextReaderTest, RecallsWhatItStored) {
  const auto text = random_tokens(4, 60, 300);
  TextMemory memory(config(512));
  memory.memorize(pieces_of(text));
  TextReader reader(memory);
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    reader.append(text[i]);
    if (i + 1 < 2) continue;
    const NextToken next = by_score(reader.scores(), memory.noise());
    EXPECT_EQ(next.token, text[i + 1]) << i;
    EXPECT_TRUE(next.recalled) << i;
  }
}

TEST_P(TextReaderTest, ReadingManyContextsIsReadingEach) {
  const auto text = random_tokens(5, 200, 300);
  TextMemory memory(config(192));  // no whole number of groups of the paper code's table
  memory.memorize(pieces_of(text));
  TextReader reader(memory);
  std::vector<std::span<const int32_t>> contexts = {std::span(text).first(0)};
  std::vector<WindowScores> streamed = {reader.scores()};
  for (size_t i = 0; i < 50; ++i) {
    reader.append(text[i]);
    streamed.push_back(reader.scores());
    contexts.push_back(std::span(text).first(i + 1));
  }
  const auto at_once = read_contexts(memory, contexts);
  ASSERT_EQ(at_once.size(), streamed.size());
  for (size_t i = 0; i < streamed.size(); ++i) {
    ASSERT_EQ(at_once[i].windows(), streamed[i].windows());
    for (int64_t k = 0; k < streamed[i].windows(); ++k)
      EXPECT_TRUE(std::ranges::equal(at_once[i].window(k), streamed[i].window(k))) << i << " " << k;
  }
}

TEST_P(TextReaderTest, RecallingManyContextsIsDecidingEachByScore) {
  const auto text = random_tokens(18, 300, 300);
  TextMemory memory(config());
  memory.memorize(pieces_of(text));
  std::vector<std::span<const int32_t>> contexts;
  for (size_t i = 0; i < 100; ++i) contexts.push_back(std::span(text).first(i));
  const auto recalled = recall_contexts(memory, contexts);
  const auto scores = read_contexts(memory, contexts);
  ASSERT_EQ(recalled.size(), scores.size());
  TextReader reader(memory);
  for (size_t i = 0; i < scores.size(); reader.append(text[i++])) {
    const NextToken streamed = reader.recall(memory.noise());
    EXPECT_EQ(streamed.token, recalled[i].token) << i;
    EXPECT_EQ(streamed.score, recalled[i].score) << i;
    EXPECT_EQ(streamed.window_scores, recalled[i].window_scores) << i;
    const NextToken expected = by_score(scores[i], memory.noise());
    EXPECT_EQ(recalled[i].token, expected.token) << i;
    EXPECT_EQ(recalled[i].recalled, expected.recalled) << i;
    EXPECT_EQ(recalled[i].matched_length, expected.matched_length) << i;
    EXPECT_NEAR(recalled[i].score, expected.score, 0.1 * memory.noise()) << i;
    ASSERT_EQ(recalled[i].window_scores.size(), expected.window_scores.size());
    for (size_t k = 0; k < expected.window_scores.size(); ++k)
      EXPECT_NEAR(recalled[i].window_scores[k], expected.window_scores[k], 0.05 * memory.noise());
  }
  const std::vector<int32_t> outside = {300};
  EXPECT_THROW(recall_contexts(memory, std::vector<std::span<const int32_t>>{outside}), UsageError);
  EXPECT_TRUE(recall_contexts(memory, {}).empty());
}

// A context whose end was stored, but not what came before it.
TEST_P(TextReaderTest, BacksOffToTheLongestWindowThatWasStored) {
  TextMemory memory(config(512));
  const auto text = random_tokens(16, 100, 300), other = random_tokens(17, 4, 300);
  memory.memorize(pieces_of(text));
  const LikelihoodDecoder decoder(std::vector<double>(300, 1.0), memory.noise(), 1e-3);
  TextReader reader(memory);
  for (const int32_t token : other) reader.append(token);
  for (size_t i = 50; i < 54; ++i) reader.append(text[i]);
  const NextToken next = decoder.best(reader.scores());
  EXPECT_EQ(next.token, text[54]);
  EXPECT_TRUE(next.recalled);
  // Of the paper code's key of eight tokens half was stored, and may vote.
  if (GetParam().code == WindowCodeKind::kBound) {
    EXPECT_EQ(next.matched_length, 4);
  }
}

// The paper's 0.75: a window that shares j of h tokens with a stored one scores j / h.
TEST(TextReader, PaperCodeScoresSharedParts) {
  const TextMemoryConfig config{.code = WindowCodeKind::kPaper,
                                .dimension = 2048,
                                .heads = 4,
                                .layers = 1,
                                .vocabulary = 50,
                                .seed = 3};
  TextMemory memory(config);
  memory.memorize(pieces_of(std::vector<int32_t>{1, 2, 3, 4, 5}));
  for (size_t shared = 0; shared <= 4; ++shared) {
    std::vector<int32_t> context = {11, 12, 13, 14};
    for (size_t m = 0; m < shared; ++m) context[m] = static_cast<int32_t>(m) + 1;
    const auto scores = read_contexts(memory, std::vector<std::span<const int32_t>>{context});
    EXPECT_NEAR(scores[0].window(0)[5], static_cast<double>(shared) / 4, 0.1) << shared;
    EXPECT_NEAR(scores[0].window(0)[6], 0, 0.1) << shared;
  }
}

// Its encodings are products: blind to the order within a block, not to the order of blocks.
TEST(TextReader, BoundCodeTellsOrdersApartPaperCodeBlocks) {
  for (const auto code : {WindowCodeKind::kBound, WindowCodeKind::kPaper}) {
    TextMemory memory(
        {.code = code, .dimension = 2048, .heads = 2, .layers = 2, .vocabulary = 50, .seed = 3});
    memory.memorize(pieces_of(std::vector<int32_t>{1, 2, 3, 4, 5}));
    const std::vector<int32_t> same = {1, 2, 3, 4}, within = {2, 1, 4, 3}, blocks = {3, 4, 1, 2};
    const auto scores =
        read_contexts(memory, std::vector<std::span<const int32_t>>{same, within, blocks});
    EXPECT_NEAR(scores[0].window(1)[5], 1, 0.15);
    EXPECT_NEAR(scores[1].window(1)[5], code == WindowCodeKind::kPaper ? 1 : 0, 0.15);
    EXPECT_NEAR(scores[2].window(1)[5], 0, 0.15);
  }
}

}  // namespace
}  // namespace tessera::memo
