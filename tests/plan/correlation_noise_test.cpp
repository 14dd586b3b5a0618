#include "tessera/plan/correlation_noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/random.h"
#include "tessera/plan/blas.h"

namespace tessera::theory {
namespace {

CorrelationCode square(int64_t d, int64_t vocabulary) {
  return {.rows = d, .columns = d, .vocabulary = vocabulary};
}

TEST(CorrelationNoise, FollowsItsLaw) {
  // 100 pairs spread over 8 x 10 numbers; 2 of them hold any one token of 50.
  CorrelationCode code{.rows = 8, .columns = 10, .vocabulary = 50};
  EXPECT_DOUBLE_EQ(correlation_noise(code, 100), std::sqrt(100 / 80.0 * 1.2));
  code.key_variance = shared_gaussian_key_variance(4);
  EXPECT_DOUBLE_EQ(correlation_noise(code, 100), std::sqrt(1.25 * 100 / 80.0 * 1.2));
  code.values_bound = true;
  EXPECT_DOUBLE_EQ(correlation_noise(code, 100), std::sqrt(1.25 * 100 / 80.0));
  EXPECT_EQ(correlation_noise(code, 0), 0);
}

// n / P at a recall, in a memory so large that no term but the crosstalk is left.
TEST(CorrelationNoise, ManyParametersHoldThirtyToThePairAtNineTenths) {
  const double expected[][4] = {
      {256, .0566, .0349, .0259}, {50000, .0323, .0225, .0179}, {100000, .0306, .0216, .0172}};
  for (const auto& [vocabulary, at_90, at_99, at_999] : expected) {
    CorrelationCode code = square(1 << 20, static_cast<int64_t>(vocabulary));
    code.values_bound = true;
    const double parameters = std::pow(2.0, 40);
    EXPECT_NEAR(correlation_capacity(code, .9) / parameters, at_90, 1e-4);
    EXPECT_NEAR(correlation_capacity(code, .99) / parameters, at_99, 1e-4);
    EXPECT_NEAR(correlation_capacity(code, .999) / parameters, at_999, 1e-4);
  }
}

// Experiment 4.2 of the paper with one layer and no decoys: 30 texts of 1021 windows a batch.
TEST(CorrelationNoise, MeetsThePublishedRecallOfOneLayer) {
  const auto recall = [](int64_t d, int64_t batches) {
    CorrelationCode code = square(d, 50254);
    code.key_variance = shared_gaussian_key_variance(4);
    code.lengths_vary = true;
    return correlation_recall(code, static_cast<double>(batches * 30 * 1021));
  };
  EXPECT_NEAR(recall(1024, 1), .801, .01);
  EXPECT_NEAR(recall(1024, 2), .281, .01);
  EXPECT_NEAR(recall(1024, 3), .112, .01);
  EXPECT_NEAR(recall(1024, 4), .055, .01);
  EXPECT_NEAR(recall(2048, 2), .997, .01);
  EXPECT_NEAR(recall(2048, 3), .939, .01);
  EXPECT_NEAR(recall(2048, 4), .792, .01);
  EXPECT_NEAR(recall(4096, 10), .973, .01);
}

TEST(CorrelationNoise, LayersHoldAsManyTokens) {
  CorrelationCode code = square(1024, 50000);
  const double tokens = correlation_capacity(code, .9);
  code.layers = 3;
  EXPECT_NEAR(correlation_capacity(code, .9) / 3, tokens, 1e-3 * tokens);
}

/// Recall of n pairs of random signs, measured.
double simulated_recall(const CorrelationCode& code, int64_t pairs, uint64_t seed) {
  RandomStream random(seed);
  const auto signs = [&](int64_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = random() & 1 ? 1 : -1;
    return values;
  };
  const int64_t K = code.rows, d = code.columns, V = code.vocabulary;
  const auto keys = signs(pairs * K), embeddings = signs(V * d);
  std::vector<float> values(pairs * d), memory(K * d), read(pairs * d), scores(pairs * V);
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < pairs; ++i) {
    tokens.push_back(static_cast<int64_t>(random.below(V)));
    std::copy_n(embeddings.begin() + tokens.back() * d, d, values.begin() + i * d);
  }
  transposed_multiply(K, d, pairs, keys.data(), K, values.data(), d, 0, memory.data(), d);
  multiply(pairs, d, K, keys.data(), K, memory.data(), d, 0, read.data(), d);
  multiply_transposed(pairs, V, d, read.data(), d, embeddings.data(), d, 0, scores.data(), V);
  int64_t right = 0;
  for (int64_t i = 0; i < pairs; ++i) {
    const auto line = scores.begin() + i * V;
    right += std::max_element(line, line + V) - line == tokens[i];
  }
  return static_cast<double>(right) / static_cast<double>(pairs);
}

TEST(CorrelationNoise, AgreesWithASimulation) {
  const CorrelationCode code{.rows = 128, .columns = 256, .vocabulary = 2048};
  for (const int64_t pairs : {700, 1400, 2800})
    EXPECT_NEAR(correlation_recall(code, static_cast<double>(pairs)),
                simulated_recall(code, pairs, 3), 0.03)
        << pairs;
}

TEST(CorrelationNoise, RefusesWhatIsNoMemory) {
  EXPECT_THROW(correlation_recall(square(0, 10), 5), UsageError);
  EXPECT_THROW(correlation_recall(square(10, 0), 5), UsageError);
  EXPECT_THROW(correlation_noise(square(10, 10), -1), UsageError);
  EXPECT_THROW(correlation_capacity(square(10, 10), 1), UsageError);
  EXPECT_THROW(correlation_capacity(square(10, 10), 0.1), UsageError);
  EXPECT_THROW(shared_gaussian_key_variance(0), UsageError);
  EXPECT_DOUBLE_EQ(correlation_recall(square(10, 1), 5), 1);
}

}  // namespace
}  // namespace tessera::theory
