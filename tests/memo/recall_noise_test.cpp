// How noisy the scores of a memory are, and how often that makes it err.

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "tessera/memo/likelihood_decoder.h"
#include "tessera/memo/text_memory.h"
#include "tessera/memo/text_reader.h"
#include "tests/memo/memory_forms.h"
#include "tests/memo/texts.h"

namespace tessera::memo {
namespace {

using test::pieces_of;
using test::random_tokens;

class RecallNoiseTest : public MemoryFormTest {};

INSTANTIATE_TEST_SUITE_P(Forms, RecallNoiseTest, testing::ValuesIn(kMemoryForms), name_of_form);

/// Of 1000 places of the text, the share where the next token is the one with the largest score.
double recall(const TextMemory& memory, std::span<const int32_t> text) {
  const size_t longest = memory.window_lengths().back();
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
TEST(RecallNoise, TheNoiseOfAWindowIsKnownFromWhatItRetrieves) {
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
      squares += scores.window(0)[token] * scores.window(0)[token] / (kTokens - 400);
    EXPECT_NEAR(scores.noise(0), std::sqrt(squares), 0.15 * std::sqrt(squares));
    EXPECT_GT(scores.noise(0), floor);
  }
  EXPECT_LT(memory.noise(), 0.2);
}

// k windows of T tokens are k T pairs. Their sum has signal k and noise sqrt(k) sqrt(k T) / d, so
// that the noise against the signal, sqrt(T) / d, is the same for every k.
TEST(RecallNoise, RecallFollowsTheNoiseLaw) {
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

TEST_P(RecallNoiseTest, ScoresOfOtherTokensHaveTheStatedNoise) {
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

TEST_P(RecallNoiseTest, AbstainsOnWhatWasNeverStoredAtTheStatedRate) {
  const int64_t V = 20000;
  TextMemory memory(config(512, V));
  const auto stored = random_tokens(14, 1000, V), other = random_tokens(15, 1000, V);
  memory.memorize(pieces_of(stored));
  const double error_rate = 0.05;
  const LikelihoodDecoder decoder(std::vector<double>(V, 1.0), memory.noise(), error_rate);
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

}  // namespace
}  // namespace tessera::memo
