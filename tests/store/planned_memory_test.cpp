#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/random.h"
#include "tessera/memory/text_reader.h"
#include "tessera/theory/window_memory.h"

namespace tessera {
namespace {

using theory::WindowErrorPredictor;
using theory::WindowMemory;

constexpr int32_t kVocabulary = 400;
constexpr size_t kShortest = 4, kLongest = 16;  // windows

/// Tokens of a Zipf law that depend on the one before: windows repeat, and go on differently.
std::vector<int32_t> chained_text(int64_t tokens, uint64_t seed) {
  RandomStream random(seed);
  std::vector<int32_t> text = {0};
  while (static_cast<int64_t>(text.size()) < tokens) {
    const auto rank = static_cast<int32_t>(std::exp(random.uniform() * std::log(12.0))) - 1;
    text.push_back((7 * text.back() + 31 * rank + 1) % kVocabulary);
  }
  return text;
}

double measured_error(const std::vector<int32_t>& text, int64_t dimension, uint64_t seed) {
  TextMemory memory({.dimension = dimension, .vocabulary = kVocabulary, .seed = seed});
  std::span<const int32_t> rest = text;
  memory.memorize([&] { return std::exchange(rest, {}); });
  std::vector<double> prior(kVocabulary, 1.0);
  for (const int32_t token : text) prior[static_cast<size_t>(token)] += 1;
  const LikelihoodDecoder decoder(prior, memory.noise(), 0.01);
  std::vector<std::span<const int32_t>> contexts;
  for (size_t i = kShortest; i < text.size(); ++i)
    contexts.push_back(std::span(text).first(i).last(std::min(i, kLongest)));
  int64_t wrong = 0;
  read_contexts(memory, contexts, [&](size_t context, const WindowScores& scores) {
    wrong += decoder.best(scores).token != text[context + kShortest];
  });
  return static_cast<double>(wrong) / static_cast<double>(contexts.size());
}

TEST(PlannedMemory, ErrorIsWhatThePlanSaid) {
  const auto text = chained_text(4000, 5);
  const WindowErrorPredictor predictor(text,
                                       {.heads = 4,
                                        .layers = 3,
                                        .vocabulary = kVocabulary,
                                        .keys = WindowMemory::Keys::kBoundWindows},
                                       1000, 1);
  for (const int64_t dimension : {320, 448}) {
    const double predicted = predictor.error(dimension).first;
    const double measured = measured_error(text, dimension, 1);
    EXPECT_NEAR(predicted, measured, 0.2 * measured + 0.002) << dimension;
  }
}

}  // namespace
}  // namespace tessera
