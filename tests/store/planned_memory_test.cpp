#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/random.h"
#include "tessera/memo/bound_window_predictor.h"
#include "tessera/memo/likelihood_decoder.h"
#include "tessera/memo/text_reader.h"

namespace tessera::store {
namespace {

using Documents = std::vector<std::vector<int32_t>>;

constexpr int32_t kVocabulary = 400;
constexpr size_t kShortest = 4, kLongest = 16;  // windows

/// Tokens of a Zipf law that depend on the one before: windows repeat, and are followed by different tokens.
std::vector<int32_t> chained_text(int64_t tokens, uint64_t seed) {
  RandomStream random(seed);
  std::vector<int32_t> text = {0};
  while (static_cast<int64_t>(text.size()) < tokens) {
    const auto rank = static_cast<int32_t>(std::exp(random.uniform() * std::log(12.0))) - 1;
    text.push_back((7 * text.back() + 31 * rank + 1) % kVocabulary);
  }
  return text;
}

double measured_error(const Documents& documents, int64_t dimension, uint64_t seed) {
  memo::TextMemory memory({.dimension = dimension, .vocabulary = kVocabulary, .seed = seed});
  std::vector<double> prior(kVocabulary, 1.0);
  std::vector<std::span<const int32_t>> contexts;
  std::vector<int32_t> answers;
  for (const auto& document : documents) {
    std::span<const int32_t> rest = document;
    memory.memorize([&] { return std::exchange(rest, {}); });
    for (const int32_t token : document) prior[static_cast<size_t>(token)] += 1;
    for (size_t i = kShortest; i < document.size(); ++i) {
      contexts.push_back(std::span(document).first(i).last(std::min(i, kLongest)));
      answers.push_back(document[i]);
    }
  }
  const memo::LikelihoodDecoder decoder(prior, memory.noise(), 0.01);
  int64_t wrong = 0;
  memo::read_contexts(memory, contexts, [&](size_t context, const memo::WindowScores& scores) {
    wrong += decoder.best(scores).token != answers[context];
  });
  return static_cast<double>(wrong) / static_cast<double>(contexts.size());
}

void expect_planned_error(const Documents& documents) {
  const memo::BoundWindowPredictor predictor(documents, {4, 8, 16}, kVocabulary, 1000, 1);
  for (const int64_t dimension : {320, 448}) {
    const double predicted = predictor.error(dimension).first;
    const double measured = measured_error(documents, dimension, 1);
    EXPECT_NEAR(predicted, measured, 0.2 * measured + 0.002) << dimension;
  }
}

TEST(PlannedMemory, ErrorIsWhatThePlanSaid) {
  expect_planned_error({chained_text(4000, 5)});
}

TEST(PlannedMemory, DocumentsThatShareTextAreTakenIntoAccount) {
  Documents documents = {chained_text(2000, 5), chained_text(1500, 6)};
  documents[1].insert(documents[1].end(), documents[0].begin() + 500, documents[0].begin() + 1000);
  documents.push_back({documents[0].begin() + 700, documents[0].begin() + 1200});
  expect_planned_error(documents);
}

}  // namespace
}  // namespace tessera::store
