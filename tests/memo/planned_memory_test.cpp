#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/random.h"
#include "tessera/memo/bound_window_predictor.h"
#include "tessera/memo/likelihood_decoder.h"
#include "tessera/memo/text_memory.h"
#include "tessera/memo/text_reader.h"

namespace tessera::memo {
namespace {

using Documents = std::vector<std::vector<int32_t>>;

constexpr int32_t kDifferentTokens = 400;
constexpr size_t kShortest = 4, kLongest = 16;  // windows

/// Tokens of a Zipf law that depend on the one before: windows repeat, and are followed by
/// different tokens.
std::vector<int32_t> chained_text(int64_t tokens, uint64_t seed) {
  RandomStream random(seed);
  std::vector<int32_t> text = {0};
  while (std::ssize(text) < tokens) {
    const auto rank = static_cast<int32_t>(std::exp(random.uniform() * std::log(12.0))) - 1;
    text.push_back((7 * text.back() + 31 * rank + 1) % kDifferentTokens);
  }
  return text;
}

/// Lines that begin with the same four tokens and go on with one of many.
std::vector<int32_t> log_text(int64_t tokens, uint64_t seed) {
  RandomStream random(seed);
  std::vector<int32_t> text;
  while (std::ssize(text) < tokens) {
    for (int32_t constant = 0; constant < 4; ++constant) text.push_back(constant);
    for (int i = 0; i < 3; ++i) text.push_back(4 + static_cast<int32_t>(random.below(1000)));
  }
  return text;
}

double measured_error(const Documents& documents, int64_t dimension, uint64_t seed,
                      int64_t vocabulary = kDifferentTokens, int32_t shards = 1) {
  TextMemory memory(
      {.dimension = dimension, .shards = shards, .vocabulary = vocabulary, .seed = seed});
  std::vector<double> prior(vocabulary, 1.0);
  std::vector<std::span<const int32_t>> contexts;
  std::vector<int32_t> answers;
  for (const auto& document : documents) {
    memory.memorize(one_piece(document));
    for (const int32_t token : document) prior[token] += 1;
    for (size_t i = kShortest; i < document.size(); ++i) {
      contexts.push_back(std::span(document).first(i).last(std::min(i, kLongest)));
      answers.push_back(document[i]);
    }
  }
  const LikelihoodDecoder decoder(prior, memory.noise(), 0.01);
  int64_t wrong = 0;
  read_contexts(memory, contexts, [&](size_t context, const WindowScores& scores) {
    wrong += decoder.best(scores).token != answers[context];
  });
  return static_cast<double>(wrong) / static_cast<double>(contexts.size());
}

void expect_planned_error(const Documents& documents) {
  const BoundWindowPredictor predictor(documents, {.vocabulary = kDifferentTokens}, 1000, 1);
  for (const int64_t dimension : {320, 448}) {
    const double predicted = predictor.error(dimension).mean;
    const double measured = measured_error(documents, dimension, 1);
    EXPECT_NEAR(predicted, measured, 0.2 * measured + 0.002) << dimension;
  }
}

TEST(PlannedMemory, ErrorIsWhatThePlanSaid) {
  expect_planned_error({chained_text(4000, 5)});
}

/// The many tokens stored with one window disturb each other.
TEST(PlannedMemory, ErrorOfRepetitiveTextIsPlannedToo) {
  constexpr int64_t kTokens = 2500;
  const Documents documents = {log_text(kTokens, 5)};
  const BoundWindowPredictor predictor(documents, {.vocabulary = 1004}, 500, 1);
  for (const int64_t dimension : {256, 320}) {
    const Spread planned = predictor.error(dimension);
    const double measured = measured_error(documents, dimension, 1, 1004);
    EXPECT_GT(planned.mean,
              measured - 2 * std::hypot(planned.standard_error(), std::sqrt(measured / kTokens)));
    EXPECT_LT(planned.mean, 1.5 * measured + 0.01);
    EXPECT_GT(measured, 0.002) << "there is something to plan";
  }
}

/// Shards are not equally full, and a window has the noise of its own. The codes, which differ from
/// seed to seed, decide more of the error than the positions do.
TEST(PlannedMemory, ErrorOfSeveralShardsIsWhatThePlanSaid) {
  constexpr int64_t kPositions = 6000;
  const Documents documents = {chained_text(4000, 5), chained_text(1000, 6), chained_text(1000, 6)};
  for (const auto& [shards, dimension] : {std::pair{2, 320}, {4, 192}}) {
    const BoundWindowPredictor predictor(
        documents, {.shards = shards, .vocabulary = kDifferentTokens}, kPositions, 1);
    const Spread planned = predictor.error(dimension);
    std::vector<double> errors;
    for (const uint64_t seed : {1, 2, 3, 4})
      errors.push_back(measured_error(documents, dimension, seed, kDifferentTokens, shards));
    const Spread measured = spread_of(errors);
    EXPECT_NEAR(planned.mean, measured.mean,
                2 * std::hypot(planned.standard_error(), measured.standard_error()))
        << shards << " of " << dimension;
    EXPECT_GT(measured.mean, 0.002) << "there is something to plan";
  }
}

TEST(PlannedMemory, DocumentsThatShareTextAreTakenIntoAccount) {
  Documents documents = {chained_text(2000, 5), chained_text(1500, 6)};
  documents[1].insert(documents[1].end(), documents[0].begin() + 500, documents[0].begin() + 1000);
  documents.push_back({documents[0].begin() + 700, documents[0].begin() + 1200});
  expect_planned_error(documents);
}

}  // namespace
}  // namespace tessera::memo
