#include "tessera/memo/detail/window_error_predictor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/memo/text_memory.h"
#include "tessera/memo/text_reader.h"
#include "tessera/plan/blas.h"
#include "tessera/plan/gaussian_field.h"
#include "tests/memo/texts.h"

namespace tessera::memo {
namespace {

using namespace theory;

constexpr int64_t kVocabulary = 1000, kHeads = 4;

using test::windows_of;

std::vector<int32_t> zipf_text(int64_t tokens, uint64_t seed) {
  const AssociationTask law = zipf_task(kVocabulary, 1, 1);
  const AliasTable table(law.law);
  RandomStream random(seed);
  std::vector<int32_t> text(tokens);
  for (int32_t& token : text) token = table.draw(random);
  return text;
}

/// One layer built and read in full: keys of `heads` projected tokens through one shared Gaussian
/// matrix, values the token embeddings.
double simulated_error(const std::vector<int32_t>& text, int64_t d, uint64_t seed) {
  const int64_t part = d / kHeads, n = std::ssize(text) - kHeads;
  std::vector<float> e = gaussian_rows(kVocabulary, d, seed),
                     projection = gaussian_rows(d, part, seed, 1), projected(kVocabulary * part);
  for (float& x : e) x /= std::sqrt(static_cast<float>(d));
  for (float& x : projection) x /= std::sqrt(static_cast<float>(part * kHeads));
  multiply(kVocabulary, part, d, e.data(), d, projection.data(), part, 0, projected.data(), part);
  std::vector<float> keys(n * d), values(n * d);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t h = 0; h < kHeads; ++h)
      std::copy_n(projected.begin() + text[i + h] * part, part, keys.begin() + i * d + h * part);
    std::copy_n(e.begin() + text[i + kHeads] * d, d, values.begin() + i * d);
  }
  std::vector<float> overlap(n * n), read(n * d), scores(n * kVocabulary);
  multiply_transposed(n, n, d, keys.data(), d, keys.data(), d, 0, overlap.data(), n);
  multiply(n, d, n, overlap.data(), n, values.data(), d, 0, read.data(), d);
  multiply_transposed(n, kVocabulary, d, read.data(), d, e.data(), d, 0, scores.data(),
                      kVocabulary);
  int64_t errors = 0;
  for (int64_t i = 0; i < n; ++i) {
    const auto line = scores.begin() + i * kVocabulary;
    errors += std::max_element(line, line + kVocabulary) - line != text[i + kHeads];
  }
  return static_cast<double>(errors) / static_cast<double>(n);
}

TEST(WindowMemory, PredictsTheInterferenceOfSharedSlots) {
  for (const int64_t n : {256, 512, 1024}) {
    const auto text = zipf_text(n + kHeads, n);
    double simulated = 0;
    for (uint64_t seed = 0; seed < 4; ++seed) simulated += simulated_error(text, 512, seed) / 4;
    const WindowErrorPredictor predictor({text}, windows_of(kHeads, 1, kVocabulary), 10000, 1);
    EXPECT_EQ(predictor.associations(), n);
    EXPECT_EQ(predictor.probes(), n);
    const double predicted = predictor.error(512).mean;
    EXPECT_NEAR(predicted, simulated, 0.2 * simulated) << n;
    EXPECT_GE(predicted, predictor.floor() - 0.05) << n;
  }
}

TEST(WindowMemory, AnAmbiguousTextHasAFloorNoDimensionLifts) {
  const std::vector<int32_t> text = {0, 1, 2, 0, 1, 3};  // (0 1) is followed by 2, then by 3
  const WindowErrorPredictor predictor({text}, windows_of(2, 1, 4), 100, 1);
  EXPECT_DOUBLE_EQ(predictor.floor(), 0.25);  // two of four probes are coin tosses
  EXPECT_NEAR(predictor.error(1000000).mean, 0.25, 0.01);
  EXPECT_EQ(predictor.smallest_dimension(0.1, 8), 0);
  const std::vector<int32_t> more = {0, 1, 2, 0, 1, 3, 0, 1, 4};
  EXPECT_DOUBLE_EQ(WindowErrorPredictor({more}, windows_of(2, 1, 5), 100, 1).floor(), 2.0 / 7)
      << "three of seven probes are right once in three times";
}

TEST(WindowMemory, LayersWriteMorePairsAndReadMoreSignal) {
  const auto text = zipf_text(300, 4);
  const WindowErrorPredictor one({text}, windows_of(4, 1, kVocabulary), 1000, 1);
  const WindowErrorPredictor two({text}, windows_of(4, 2, kVocabulary), 1000, 1);
  EXPECT_EQ(one.associations(), 296);
  EXPECT_EQ(two.associations(), 296 + 284);
  EXPECT_EQ(WindowErrorPredictor({text}, windows_of(4, 16, kVocabulary), 1000, 1).associations(),
            296 + 284 + 236 + 44)
      << "windows that are longer than the text, of up to 2^32 tokens";
  EXPECT_EQ(WindowErrorPredictor({text}, windows_of(128, 16, kVocabulary), 1000, 1).associations(),
            172)
      << "128^9 tokens are more than 64 bits count";
  // The second layer's windows of sixteen tokens are all different: it settles what the first
  // mixes.
  EXPECT_LT(two.error(2048).mean, one.error(2048).mean);
}

/// What a memory of the documents gets wrong of them, every position read once.
double measured_error(const std::vector<std::vector<int32_t>>& documents,
                      const TextMemoryConfig& config) {
  TextMemory memory(config);
  for (const auto& document : documents) memory.memorize(one_piece(document));
  int64_t errors = 0, places = 0;
  for (const auto& document : documents) {
    std::vector<std::span<const int32_t>> contexts;
    for (size_t i = config.heads; i < document.size(); ++i)
      contexts.emplace_back(document.data(), i);
    const auto recalled = recall_contexts(memory, contexts);
    for (size_t k = 0; k < recalled.size(); ++k, ++places)
      errors += recalled[k].token != document[k + config.heads];
  }
  return static_cast<double>(errors) / static_cast<double>(places);
}

TEST(WindowMemory, EachDocumentWritesAPairOnce) {
  std::vector<int32_t> verses;
  for (int verse = 0; verse < 6; ++verse) {
    const auto refrain = test::random_tokens(7, 150, 200),
               own = test::random_tokens(20 + verse, 50, 200);
    verses.insert(verses.end(), refrain.begin(), refrain.end());
    verses.insert(verses.end(), own.begin(), own.end());
  }
  const std::vector<std::vector<int32_t>> documents = {
      verses, test::random_tokens(7, 150, 200), {1, 2}};
  TextMemoryConfig config = windows_of(2, 2, 200);
  config.code = WindowCodeKind::kPaper;
  config.dimension = 64;
  const WindowErrorPredictor predictor(documents, config, 10000, 1);
  TextMemory memory(config);
  for (const auto& document : documents) memory.memorize(one_piece(document));
  EXPECT_EQ(predictor.associations(), memory.pairs());
  EXPECT_EQ(predictor.probes(), 1200 - 2 + 150 - 2);
  double measured = 0;
  for (config.seed = 0; config.seed < 4; ++config.seed)
    measured += measured_error(documents, config) / 4;
  // Too little, as for other texts. If every repetition counted, it would be less than half.
  EXPECT_NEAR(predictor.error(config.dimension).mean, measured, 0.35 * measured);
}

TEST(WindowMemory, RefusesWhatMakesNoWindow) {
  const std::vector<int32_t> text = {0, 1, 2, 3, 4};
  EXPECT_THROW(WindowErrorPredictor({text}, windows_of(0, 1, 5), 10, 1), UsageError);
  EXPECT_THROW(WindowErrorPredictor({text}, windows_of(4, 0, 5), 10, 1), UsageError);
  EXPECT_THROW(WindowErrorPredictor({text}, windows_of(4, 1, 4), 10, 1), UsageError);
  EXPECT_THROW(WindowErrorPredictor({text}, windows_of(5, 1, 5), 10, 1), UsageError);
  EXPECT_THROW(WindowErrorPredictor({text}, windows_of(4, 1, 5), 10, 1).error(1), UsageError);
  EXPECT_NO_THROW(WindowErrorPredictor({text}, windows_of(4, 3, 5), 10, 1).error(2));
}

}  // namespace
}  // namespace tessera::memo
