#include "tessera/ops/weights.h"

#include <cmath>

#include "tessera/base/error.h"
#include "tessera/ops/detail/dispatch.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/linear_cross_entropy.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

at::Tensor doubles(const at::Tensor& x) {
  return x.to(at::kDouble);
}

/// x in whole numbers as cpu::Int8Vectors keeps it, as floats again.
at::Tensor rounded_vectors(const at::Tensor& x) {
  const int64_t length = x.size(-1), blocks = weight_blocks(length);
  const at::Tensor all = at::constant_pad_nd(x, {0, blocks * kWeightBlock - length})
                             .unflatten(-1, {blocks, kWeightBlock});
  const at::Tensor scales = all.abs().amax(-1, /*keepdim=*/true) / 127;
  return (at::where(scales > 0, all / scales, at::zeros_like(all)).round() * scales)
      .flatten(-2)
      .narrow(-1, 0, length);
}

/// What a product with a weight of this type is, in double. Without loops x is not rounded.
at::Tensor expected_product(const at::Tensor& x, const at::Tensor& weight, WeightType type) {
  const at::Tensor floats = as_floats(stored_as(weight, type), weight.size(1));
  const bool rounds = type == WeightType::kInt8 && loops_run({});
  return at::matmul(doubles(rounds ? rounded_vectors(x) : x), doubles(floats).t());
}

TEST(Weights, HandExampleOfInt8) {
  // 127 / 127 = 1 is a bfloat16; 3 / 127 is not: the next one above is 0.02368164.
  at::Tensor weight = at::zeros({1, 34});
  weight[0][0] = 127;
  weight[0][1] = -2.6;
  weight[0][2] = 0.4;
  weight[0][33] = -3;
  const at::Tensor stored = stored_as(weight, WeightType::kInt8);
  const auto [values, scales] = unpacked(stored, 34);
  EXPECT_EQ(scales[0][0].item<float>(), 1);
  EXPECT_FLOAT_EQ(scales[0][1].item<float>(), 0.02368164f);
  EXPECT_EQ(values[0][0].item<int>(), 127);
  EXPECT_EQ(values[0][1].item<int>(), -3);
  EXPECT_EQ(values[0][2].item<int>(), 0);
  EXPECT_EQ(values[0][33].item<int>(), -127);  // -3 / 0.02368164 = -126.7
  EXPECT_EQ(stored.sizes(), (std::vector<int64_t>{1, 2 * kWeightBlock + 4}));
  EXPECT_FLOAT_EQ(as_floats(stored, 34)[0][33].item<float>(), -127 * 0.02368164f);
}

TEST(Weights, HandExampleOfAProduct) {
  // Whole numbers with a scale of 1 on both sides: nothing is rounded.
  at::Tensor weight = at::zeros({2, 3}), x = at::zeros({1, 3});
  weight.copy_(at::tensor({127.0f, 2.0f, -3.0f, 0.0f, -127.0f, 1.0f}).view({2, 3}));
  x.copy_(at::tensor({1.0f, -127.0f, 10.0f}).view({1, 3}));
  // 127 - 254 - 30 = -157, 16129 + 10 = 16139
  for (const WeightType type : kFewerBits) {
    const at::Tensor y = ops::linear(x, stored_as(weight, type), at::tensor({0.5f, 0.0f}));
    EXPECT_EQ(y[0][0].item<float>(), -156.5f);
    EXPECT_EQ(y[0][1].item<float>(), 16139.0f);
  }
}

TEST(Weights, RoundingIsWithinHalfAStep) {
  at::manual_seed(1);
  for (const int64_t columns : {1, 31, 32, 33, 96, 200}) {
    const at::Tensor weight = at::randn({2, 3, 5, columns});
    const at::Tensor stored = stored_as(weight, WeightType::kInt8);
    const auto [values, scales] = unpacked(stored, columns);
    const at::Tensor floats = as_floats(stored, columns);
    const at::Tensor steps =
        doubles(scales).repeat_interleave(kWeightBlock, -1).narrow(-1, 0, columns);
    EXPECT_TRUE((doubles(floats - weight).abs() <= steps * 0.5000001).all().item<bool>());
    EXPECT_LE((doubles(scales) * 127).max().item<double>(),
              weight.abs().max().item<double>() * (1 + 1.0 / 127));
    EXPECT_TRUE(packed({values, scales}).equal(stored));
    // What was rounded once stays as it is.
    EXPECT_TRUE(as_floats(stored_as(floats, WeightType::kInt8), columns)
                    .allclose(floats, /*rtol=*/0.01, /*atol=*/1e-2));
  }
}

TEST(Weights, ZerosAndNothing) {
  EXPECT_TRUE(
      as_floats(stored_as(at::zeros({4, 40}), WeightType::kInt8), 40).equal(at::zeros({4, 40})));
  EXPECT_EQ(as_floats(stored_as(at::zeros({0, 40}), WeightType::kInt8), 40).numel(), 0);
  for (const WeightType type : kFewerBits) {
    EXPECT_EQ(ops::linear(at::randn({0, 40}), stored_as(at::randn({3, 40}), type)).sizes(),
              (std::vector<int64_t>{0, 3}));
    EXPECT_EQ(ops::linear(at::randn({2, 40}), stored_as(at::randn({0, 40}), type)).numel(), 0);
    EXPECT_TRUE(ops::linear(at::zeros({2, 40}), stored_as(at::randn({3, 40}), type))
                    .equal(at::zeros({2, 3})));
  }
}

TEST(Weights, AsFloatsAreWholeNumbersTimesTheirScales) {
  at::manual_seed(7);
  for (int64_t columns : {1, 31, 32, 33, 64, 100}) {
    const at::Tensor stored = stored_as(at::randn({2, 9, columns}), WeightType::kInt8);
    const auto [values, scales] = unpacked(stored, columns);
    const at::Tensor products =
        values.to(at::kFloat) *
        scales.to(at::kFloat).repeat_interleave(kWeightBlock, -1).narrow(-1, 0, columns);
    EXPECT_TRUE(as_floats(stored, columns).equal(products)) << columns;
    EXPECT_TRUE(as_floats(stored.narrow(1, 2, 5), columns).equal(products.narrow(1, 2, 5)));
  }
}

TEST(Weights, ProductsAgreeWithTheLoop) {
  at::manual_seed(2);
  for (const WeightType type : kFewerBits)
    for (const int64_t rows : {1, 2, 5, 16, 17, 40})
      for (const int64_t in : {1, 7, 32, 50, 96, 600})
        for (const int64_t out : {1, 15, 33, 130}) {
          const at::Tensor x = at::randn({rows, in}), weight = at::randn({out, in});
          const at::Tensor bias = at::randn({out});
          const at::Tensor expected = expected_product(x, weight, type);
          const at::Tensor stored = stored_as(weight, type);
          const auto what = ::testing::Message() << "type " << static_cast<int>(type) << " rows "
                                                 << rows << " in " << in << " out " << out;
          EXPECT_LT(test::relative_error(doubles(ops::linear(x, stored)), expected), 1e-5) << what;
          EXPECT_LT(test::relative_error(doubles(ops::linear(x, stored, bias)), expected + bias),
                    1e-5)
              << what;
        }
}

TEST(Weights, ProductsOfLongVectorsAgreeWithTheLoop) {
  at::manual_seed(9);
  const at::Tensor x = at::randn({200, 2048}), weight = at::randn({40, 2048});
  for (const WeightType type : kFewerBits) {
    // Of so many numbers one lies half-way between two whole ones, and is rounded to either.
    const double tolerance = type == WeightType::kInt8 ? 1e-3 : 1e-5;
    EXPECT_LT(test::relative_error(doubles(ops::linear(x, stored_as(weight, type))),
                                   expected_product(x, weight, type)),
              tolerance);
  }
}

TEST(Weights, FewAndManyVectorsGiveTheSame) {
  at::manual_seed(3);
  for (const int64_t in : {192, 200})
    for (const WeightType type : kFewerBits) {
      const at::Tensor x = at::randn({40, in}) * 30;
      const at::Tensor stored = stored_as(at::randn({70, in}), type), all = ops::linear(x, stored);
      for (int64_t row = 0; row < 40; ++row)
        EXPECT_LT(test::relative_error(ops::linear(x[row], stored), all[row]), 1e-6) << row;
    }
}

TEST(Weights, WholeFloatsAreMultipliedWithBFloat16) {
  const float number = std::nextafterf(1.0f, 2.0f);  // 24 digits
  at::Tensor x = at::zeros({20, 64});
  x[7][40] = -number;
  const at::Tensor y = ops::linear(x, stored_as(at::full({3, 64}, 0.5f), WeightType::kBFloat16));
  EXPECT_EQ(y[7][2].item<float>(), -0.5f * number);
  EXPECT_EQ(y.count_nonzero().item<int64_t>(), 3);
}

TEST(Weights, NothingInfiniteIsLost) {
  for (const WeightType type : kFewerBits)
    for (const int64_t rows : {1, 20}) {
      at::Tensor x = at::ones({rows, 64});
      x[0][40] = NAN;
      EXPECT_TRUE(ops::linear(x, stored_as(at::ones({3, 64}), type))[0].isnan().all().item<bool>());
      x[0][40] = INFINITY;
      EXPECT_FALSE(
          ops::linear(x, stored_as(at::ones({3, 64}), type))[0].isfinite().any().item<bool>());
    }
}

TEST(Weights, EmbeddingRows) {
  at::manual_seed(4);
  const at::Tensor table = at::randn({9, 50}), ids = at::tensor({3, 0, 8, 3}).view({2, 2});
  EXPECT_TRUE(embedding_rows(table, ids, 50).equal(at::embedding(table, ids)));
  for (const WeightType type : kFewerBits) {
    const at::Tensor stored = stored_as(table, type);
    EXPECT_TRUE(embedding_rows(stored, ids, 50).equal(at::embedding(as_floats(stored, 50), ids)));
  }
}

TEST(Weights, CrossEntropyByRow) {
  at::manual_seed(5);
  const at::Tensor hidden = at::randn({150, 40}), embedding = at::randn({77, 40});
  const at::Tensor targets = at::randint(-1, 77, {150}, at::kLong);
  for (const WeightType type : kFewerBits) {
    const at::Tensor logits = expected_product(hidden, embedding, type) * 0.5;
    const at::Tensor losses =
        (logits.logsumexp(1) - logits.gather(1, targets.clamp_min(0).unsqueeze(1)).squeeze(1))
            .masked_fill(targets < 0, 0);
    EXPECT_LT(test::relative_error(doubles(linear_cross_entropy_per_row(
                                       hidden, stored_as(embedding, type), 0.5, targets, -1)),
                                   losses),
              1e-5);
    EXPECT_THROW(linear_cross_entropy(hidden, stored_as(embedding, type), 0.5, targets, -1),
                 UsageError);
  }
}

TEST(Weights, RefuseBadArguments) {
  const at::Tensor weight = at::randn({3, 40}), int8 = stored_as(weight, WeightType::kInt8);
  EXPECT_THROW(stored_as(at::randn({40}), WeightType::kInt8), UsageError);
  EXPECT_THROW(stored_as(doubles(weight), WeightType::kBFloat16), UsageError);
  EXPECT_THROW(stored_as(at::full({3, 40}, NAN), WeightType::kInt8), UsageError);
  EXPECT_THROW(stored_as(at::full({3, 40}, INFINITY), WeightType::kInt8), UsageError);
  EXPECT_THROW(as_floats(int8, 70), UsageError);
  EXPECT_THROW(as_floats(weight, 41), UsageError);
  EXPECT_THROW(unpacked(weight, 40), UsageError);
  const Int8Weights parts = unpacked(int8, 40);
  EXPECT_THROW(packed({parts.values, parts.scales.narrow(1, 0, 1)}), UsageError);
  EXPECT_THROW(packed({parts.values, parts.scales.to(at::kFloat)}), UsageError);
  EXPECT_THROW(ops::linear(at::randn({2, 70}), int8), UsageError);
  EXPECT_THROW(ops::linear(doubles(at::randn({2, 40})), int8), UsageError);
  EXPECT_THROW(ops::linear(at::randn({2, 41}), stored_as(weight, WeightType::kBFloat16)),
               UsageError);
}

}  // namespace
}  // namespace tessera::ops
