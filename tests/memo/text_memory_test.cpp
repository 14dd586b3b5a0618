#include "tessera/memo/text_memory.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/memo/likelihood_decoder.h"
#include "tessera/memo/text_reader.h"
#include "tests/memo/texts.h"

namespace tessera::memo {
namespace {

using test::pieces_of;
using test::random_tokens;

std::vector<std::byte> bytes_of(const TextMemory& memory) {
  std::vector<std::byte> bytes;
  for (const MemoryShard& shard : memory.shards()) {
    const auto of_shard = shard.matrix().bytes();
    bytes.insert(bytes.end(), of_shard.begin(), of_shard.end());
  }
  return bytes;
}

/// What a memory may be made of.
struct Form {
  WindowCodeKind code;
  int32_t shards;
};

class TextMemoryTest : public testing::TestWithParam<Form> {
 protected:
  TextMemoryConfig config(int64_t dimension = 128, int64_t vocabulary = 300) const {
    return {.code = GetParam().code,
            .dimension = dimension,
            .heads = 2,
            .layers = 3,
            .shards = GetParam().shards,
            .vocabulary = vocabulary,
            .seed = 7};
  }
};

INSTANTIATE_TEST_SUITE_P(Forms, TextMemoryTest,
                         testing::Values(Form{WindowCodeKind::kBound, 1},
                                         Form{WindowCodeKind::kBound, 3},
                                         Form{WindowCodeKind::kPaper, 1}),
                         [](const auto& info) {
                           const auto code = static_cast<size_t>(info.param.code);
                           return std::string(enum_names(info.param.code)[code]) +
                                  std::to_string(info.param.shards);
                         });

TEST_P(TextMemoryTest, CountsItsPairs) {
  const std::vector<int32_t> text = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  TextMemory memory(config());
  EXPECT_EQ(memory.memorize(pieces_of(text)), 13);
  EXPECT_EQ(memory.pairs(), 13);
  EXPECT_EQ(memory.forget(pieces_of(text)), 13);
  EXPECT_EQ(memory.pairs(), 0);
  EXPECT_EQ(bytes_of(memory), bytes_of(TextMemory(config())));
}

TEST_P(TextMemoryTest, DocumentsWithoutAWindowChangeNothing) {
  TextMemory memory(config());
  for (const std::vector<int32_t>& text : {std::vector<int32_t>{}, {1}, {1, 2}})
    EXPECT_EQ(memory.memorize(pieces_of(text)), 0);
  EXPECT_EQ(bytes_of(memory), bytes_of(TextMemory(config())));
  EXPECT_EQ(memory.noise(), 0);
  TextReader reader(memory);
  EXPECT_EQ(reader.scores().windows(), 0);
  reader.append(1);
  EXPECT_EQ(reader.scores().windows(), 0);
  reader.append(2);
  EXPECT_EQ(reader.scores().windows(), 1);
}

TEST_P(TextMemoryTest, HoldsTheSameWhateverThePathToIt) {
  const auto a = random_tokens(1, 90, 300), b = random_tokens(2, 2500, 300),
             c = random_tokens(3, 40, 300);
  TextMemory straight(config()), winding(config()), part(config());
  straight.memorize(pieces_of(a));
  straight.memorize(pieces_of(c));
  winding.memorize(pieces_of(b, 999));
  winding.memorize(pieces_of(c, 1));
  part.memorize(pieces_of(a, 7));
  winding.merge(part);
  EXPECT_NE(bytes_of(straight), bytes_of(winding));
  winding.forget(pieces_of(b, 64));
  EXPECT_EQ(bytes_of(straight), bytes_of(winding));
  EXPECT_EQ(straight.pairs(), winding.pairs());
}

TEST_P(TextMemoryTest, RecallsWhatItStored) {
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

TEST_P(TextMemoryTest, ReadingManyContextsIsReadingEach) {
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

TEST_P(TextMemoryTest, RecallingManyContextsIsDecidingEachByScore) {
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

TEST_P(TextMemoryTest, WritesOnceADocumentAndAgainInTheNext) {
  std::vector<int32_t> text = {1, 2, 3, 1, 2, 3, 1, 2, 3};
  TextMemory memory(config(512));
  const int64_t written = memory.memorize(pieces_of(text));
  TextReader reader(memory);
  for (const int32_t token : {3, 1, 2}) reader.append(token);
  EXPECT_NEAR(reader.scores().window(0)[3], 1, 0.3);
  EXPECT_EQ(memory.memorize(pieces_of(text)), written);
  EXPECT_NEAR(reader.scores().window(0)[3], 2, 0.6);
}

// What a token writes depends on the tokens before it alone: a longer document adds pairs to those
// of its beginning.
TEST_P(TextMemoryTest, TheFutureOfADocumentLeavesItsPastAsItWas) {
  auto text = random_tokens(6, 60, 20);
  TextMemory whole(config()), other_end(config());
  whole.memorize(pieces_of(text));
  auto changed = text;
  for (size_t i = 40; i < changed.size(); ++i) changed[i] = 299 - changed[i];
  other_end.memorize(pieces_of(changed));
  // Taking away what only the tails wrote leaves the same beginning.
  TextMemory beginning(config());
  beginning.memorize(pieces_of(std::span(text).first(40)));
  for (auto [memory, document] : {std::pair(&whole, &text), std::pair(&other_end, &changed)}) {
    TextMemory tail(config());
    tail.memorize(pieces_of(*document));
    tail.forget(pieces_of(std::span(text).first(40)));
    EXPECT_EQ(tail.pairs(), memory->pairs() - beginning.pairs());
    tail.merge(beginning);
    EXPECT_EQ(bytes_of(tail), bytes_of(*memory));
  }
}

TEST_P(TextMemoryTest, RefusesAndStaysAsItWas) {
  TextMemory memory(config());
  memory.memorize(pieces_of(random_tokens(8, 100, 300)));
  const auto before = bytes_of(memory);
  for (const size_t bad : {0, 500, 2499})
    for (const int32_t token : {-1, 300}) {
      auto text = random_tokens(9, 2500, 300);
      text[bad] = token;
      EXPECT_THROW(memory.memorize(pieces_of(text)), UsageError);
      EXPECT_THROW(memory.forget(pieces_of(text)), UsageError);
    }
  const auto text = random_tokens(9, 2500, 300);
  auto document = pieces_of(text);
  int calls = 0;
  EXPECT_THROW(memory.memorize([&] {
    if (++calls == 3) throw std::runtime_error("read error");
    return document();
  }),
               std::runtime_error);
  auto other = config();
  other.seed = 8;
  EXPECT_THROW(memory.merge(TextMemory(other)), UsageError);
  EXPECT_EQ(bytes_of(memory), before);
  TextReader reader(memory);
  EXPECT_THROW(reader.append(300), UsageError);
  EXPECT_THROW(reader.append(-1), UsageError);
  EXPECT_EQ(reader.scores().windows(), 0);
  const std::vector<int32_t> outside = {1, 2, 300};
  EXPECT_THROW(read_contexts(memory, std::vector<std::span<const int32_t>>{outside}), UsageError);
}

TEST_P(TextMemoryTest, HoldsAndReadsTheSameOnAnyNumberOfThreads) {
  const auto text = random_tokens(10, 1500, 300);
  const std::vector<std::span<const int32_t>> contexts(20, std::span(text).first(100));
  const int threads = omp_get_max_threads();
  std::vector<std::byte> bytes;
  std::vector<float> scores;
  for (const int count : {1, 2, 3}) {
    omp_set_num_threads(count);
    TextMemory memory(config(256));
    memory.memorize(pieces_of(text));
    const WindowScores last = read_contexts(memory, contexts).back();
    const auto read = last.window(2);
    if (count == 1) {
      bytes = bytes_of(memory);
      scores.assign(read.begin(), read.end());
    }
    EXPECT_EQ(bytes_of(memory), bytes) << count;
    EXPECT_TRUE(std::ranges::equal(read, scores)) << count;
  }
  omp_set_num_threads(threads);
}

/// Of 1000 places of the text, the share where the next token is the one with the largest score.
double recall(const TextMemory& memory, std::span<const int32_t> text) {
  const auto longest = static_cast<size_t>(memory.window_lengths().back());
  std::vector<std::span<const int32_t>> contexts;
  std::vector<int32_t> next;
  const size_t step = (text.size() - longest - 1) / 1000;
  for (size_t i = 0; i < 1000; ++i) {
    contexts.push_back(text.subspan(i * step, longest));
    next.push_back(text[i * step + longest]);
  }
  int right = 0;
  const double noise = memory.noise();
  read_contexts(memory, contexts, [&](size_t i, const WindowScores& scores) {
    right += by_score(scores, noise).token == next[i];
  });
  return right / 1000.0;
}

/// The share of tokens that beat the noise of all others: the integral over g of
/// phi(g) Phi((1 + spread g) / noise)^(V - 1), where spread g is what the token's own score varies
/// by.
double predicted_recall(double noise, double spread, double vocabulary) {
  double total = 0;
  for (double g = -6; g < 6; g += 0.01) {
    const double beats_one = 0.5 * std::erfc(-(1 + spread * g) / noise / std::sqrt(2.0));
    total +=
        0.01 * std::exp(-g * g / 2 - std::log(2 * M_PI) / 2) * std::pow(beats_one, vocabulary - 1);
  }
  return total;
}

/// Of a window that was stored with many tokens: these are not orthogonal to the others.
TEST(TextMemory, TheNoiseOfAWindowIsKnownFromWhatItRetrieves) {
  constexpr int32_t kFollowers = 300, kTokens = 1000;
  std::vector<int32_t> text;
  for (int32_t token = 10; token < 10 + kFollowers; ++token) text.insert(text.end(), {1, 2, token});
  TextMemory memory({.dimension = 320, .heads = 2, .layers = 1, .vocabulary = kTokens});
  memory.memorize(one_piece(text));
  TextReader reader(memory);
  for (const auto& [context, floor] : {std::pair{std::pair{1, 2}, 0.7}, {{900, 901}, 0.0}}) {
    reader.append(context.first);
    reader.append(context.second);
    const WindowScores& scores = reader.scores();
    double squares = 0;
    for (int32_t token = 400; token < kTokens; ++token)
      squares += scores.window(0)[static_cast<size_t>(token)] *
                 scores.window(0)[static_cast<size_t>(token)] / (kTokens - 400);
    EXPECT_NEAR(scores.noise(0), std::sqrt(squares), 0.15 * std::sqrt(squares));
    EXPECT_GT(scores.noise(0), floor);
  }
  EXPECT_LT(memory.noise(), 0.2);
}

// k windows of T tokens are k T pairs. Their sum has signal k and noise sqrt(k) sqrt(k T) / d, so
// that the noise against the signal, sqrt(T) / d, is the same for every k.
TEST(TextMemory, RecallFollowsTheNoiseLaw) {
  const int64_t d = 512, V = 40000, T = 8000;
  const auto text = random_tokens(11, T, V);
  TextMemory bound({.dimension = d, .heads = 4, .layers = 2, .vocabulary = V, .seed = 1});
  bound.memorize(pieces_of(text));
  const double noise = std::sqrt(static_cast<double>(T)) / static_cast<double>(d);
  EXPECT_NEAR(bound.noise(), noise * std::sqrt(2.0), 0.01 * noise);
  EXPECT_NEAR(recall(bound, text), predicted_recall(noise, noise, V), 0.04);

  TextMemory paper({.code = WindowCodeKind::kPaper,
                    .dimension = d,
                    .heads = 4,
                    .layers = 1,
                    .vocabulary = V,
                    .seed = 1});
  paper.memorize(pieces_of(text));
  // Five times as many tokens as windows: few windows share a part.
  const double overlap = (1 + 1.0 / 4) * (1 + static_cast<double>(d) / static_cast<double>(V));
  const double paper_noise = noise * std::sqrt(overlap);
  EXPECT_NEAR(paper.noise(), paper_noise, 0.03 * paper_noise);
  const double spread = std::sqrt(paper_noise * paper_noise + 4.0 / static_cast<double>(d));
  EXPECT_NEAR(recall(paper, text), predicted_recall(paper_noise, spread, V), 0.04);
}

TEST_P(TextMemoryTest, ScoresOfOtherTokensHaveTheStatedNoise) {
  TextMemory memory(config(512, 20000));
  memory.memorize(pieces_of(random_tokens(12, 3000, 20000)));
  const auto other = random_tokens(13, 200, 20000);
  std::vector<std::span<const int32_t>> contexts;
  for (size_t i = 0; i < 100; ++i) contexts.push_back(std::span(other).subspan(i, 8));
  double squares = 0, count = 0;
  read_contexts(memory, contexts, [&](size_t, const WindowScores& scores) {
    for (const float score : scores.window(2)) {
      squares += score * score;
      ++count;
    }
  });
  EXPECT_NEAR(std::sqrt(squares / count), memory.noise(), 0.03 * memory.noise());
}

TEST_P(TextMemoryTest, AbstainsOnWhatWasNeverStoredAtTheStatedRate) {
  const int64_t V = 20000;
  TextMemory memory(config(512, V));
  const auto stored = random_tokens(14, 1000, V), other = random_tokens(15, 1000, V);
  memory.memorize(pieces_of(stored));
  const double error_rate = 0.05;
  const LikelihoodDecoder decoder(std::vector<double>(static_cast<size_t>(V), 1.0), memory.noise(),
                                  error_rate);
  const auto recalled = [&](std::span<const int32_t> text) {
    std::vector<std::span<const int32_t>> contexts;
    for (size_t i = 8; i < 408; ++i) contexts.push_back(text.subspan(i - 8, 8));
    int right = 0, any = 0;
    read_contexts(memory, contexts, [&](size_t i, const WindowScores& scores) {
      const NextToken next = decoder.best(scores);
      any += next.recalled;
      right += next.recalled && next.token == text[i + 8] && next.matched_length == 8;
    });
    return std::pair(right / static_cast<double>(contexts.size()),
                     any / static_cast<double>(contexts.size()));
  };
  EXPECT_GT(recalled(stored).first, 0.98);
  EXPECT_LT(recalled(other).second, error_rate);
}

// A context whose end was stored, but not what came before it.
TEST_P(TextMemoryTest, BacksOffToTheLongestWindowThatWasStored) {
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
TEST(TextMemory, PaperCodeScoresSharedParts) {
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
TEST(TextMemory, BoundCodeTellsOrdersApartPaperCodeBlocks) {
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

TEST(TextMemoryConfig, RefusesWhatMakesNoSense) {
  const auto refused = [](auto change) {
    TextMemoryConfig config{.dimension = 128, .heads = 2, .layers = 3, .vocabulary = 10};
    EXPECT_NO_THROW(TextMemory{config});
    change(config);
    EXPECT_THROW(TextMemory{config}, UsageError);
  };
  refused([](auto& config) { config.dimension = 0; });
  refused([](auto& config) { config.dimension = 100; });
  refused([](auto& config) { config.heads = 1; });
  refused([](auto& config) { config.layers = 0; });
  refused([](auto& config) { config.layers = 21; });
  refused([](auto& config) { config.vocabulary = 0; });
  for (const int32_t shards : {0, -1, 4097, INT32_MAX})
    refused([=](auto& config) { config.shards = shards; });
  refused([](auto& config) {
    config.code = WindowCodeKind::kPaper;
    config.shards = 2;
  });
  refused([](auto& config) {
    config.code = WindowCodeKind::kPaper;
    config.heads = 3;
  });
  refused([](auto& config) {
    config.code = WindowCodeKind::kPaper;
    config.dimension = 256;
    config.heads = 256;
    config.layers = 2;
  });
  const TextMemoryConfig config{.dimension = 128, .vocabulary = 10};
  EXPECT_THROW(TextMemory(config, std::vector<MemoryShard>()), UsageError);
  EXPECT_THROW(TextMemory(config, std::vector<MemoryShard>(2, MemoryShard(128))), UsageError);
  EXPECT_GT(TextMemory::most_tokens(config), 1000000);
}

}  // namespace
}  // namespace tessera::memo
