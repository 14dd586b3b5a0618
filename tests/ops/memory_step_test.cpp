#include "tessera/ops/memory_step.h"

#include <cmath>

#include "tessera/base/error.h"
#include "tessera/ops/detail/dispatch.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/memory_read.h"
#include "tessera/ops/weights.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

constexpr double kTolerance = 1e-5;  // another order of the same float sums

at::Tensor pair(double a, double b, at::ScalarType type) {
  return at::tensor({a, b}, real()).to(type).view({1, 1, 2});
}

void expect_close(const at::Tensor& actual, const at::Tensor& expected) {
  ASSERT_EQ(actual.sizes(), expected.sizes());
  if (expected.numel() == 0) return;
  EXPECT_LT(test::relative_error(actual.to(at::kDouble), expected.to(at::kDouble)), kTolerance);
}

/// One head of two channels, every map the identity, every factor 1, no leak.
KeyParameters plain_key(at::TensorOptions options) {
  return {{at::eye(2, options), {}}, at::zeros({1}, options), 1, {at::zeros({1}, options)}, 0};
}

TEST(ContextStep, HandExample) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    const auto options = at::TensorOptions().dtype(type);
    const at::Tensor exchange = at::eye(2, options).flip(0);
    const ContextParameters parameters = {plain_key(options),
                                          {{at::eye(2, options), {}},
                                           at::full({1}, 0.5, options),
                                           {at::full({1}, std::log(2.0), options)},
                                           0},
                                          {exchange, at::tensor({10.0, 20.0}, options)}};
    PairStorage storage = {
        at::zeros({1, 1, 3, 2}, options), at::zeros({1, 1, 3, 2}, options), {1}, {2}};
    storage.keys[0][0][0] = at::tensor({1.0, 0.0}, options);
    storage.values[0][0][0] = at::tensor({4.0, 0.0}, options);
    const ContextStep step =
        context_step(pair(3, 4, type), parameters,
                     {pair(0, 0, type), pair(1, 0, type), pair(-3, 4, type)}, storage);
    // The last pair is complete now: its key (1, 0), its value 2 Norm((-3, 4) / 2 + (3, 4) / 2).
    expect_close(storage.keys, at::tensor({1.0, 0.0, 1.0, 0.0, 0.0, 0.0}).view({1, 1, 3, 2}));
    expect_close(storage.values, at::tensor({4.0, 0.0, 0.0, 2.0, 0.0, 0.0}).view({1, 1, 3, 2}));
    expect_close(step.carry.leaky_key, pair(3, 4, type));
    expect_close(step.carry.key, pair(0.6, 0.8, type));
    expect_close(step.carry.raw_value, pair(3, 4, type));
    // Equal keys weigh the same: (4, 0) / 2 + (0, 2) / 2 = (2, 1), exchanged, plus the bias.
    expect_close(step.y, pair(11, 22, type));
  }
}

TEST(PersistentStep, HandExample) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    const auto options = at::TensorOptions().dtype(type);
    KeyParameters key = plain_key(options);
    key.leak = at::full({1}, std::log(2.0), options);  // λ = 1/2
    const at::Tensor slot_values = at::tensor({2.0, 0.0, 4.0, 6.0}, options).view({2, 1, 1, 2});
    const PersistentStep step = persistent_step(pair(3, 4, type),
                                                {key,
                                                 at::ones({2, 1, 1, 2}, options),
                                                 slot_values,
                                                 {at::full({1}, std::log(2.0), options)},
                                                 {at::eye(2, options), {}}},
                                                pair(1, 1, type));
    expect_close(step.leaky_key, pair(3.5, 4.5, type));
    expect_close(step.y, pair(6, 6, type));  // twice the mean of (2, 0) and (4, 6)
  }
}

/// Parameters for H heads of D channels, drawn at random.
struct Drawn {
  int64_t H, D;
  at::ScalarType type;
  bool bias;

  at::Tensor numbers(at::IntArrayRef sizes, double size) const {
    return (at::randn(sizes, real()) * size).to(type);
  }
  LinearMap map() const {
    const int64_t C = H * D;
    return {numbers({C, C}, 0.2), bias ? numbers({C}, 1) : at::Tensor()};
  }
  KeyParameters key() const {
    return {map(), numbers({H}, 1), 2, {numbers({H}, 0.3), 3, 0.5}, 1e-3};
  }
  ContextParameters context() const {
    return {key(), {map(), numbers({H}, 1), {numbers({H}, 0.3), 3}, 1e-3}, map()};
  }
  PersistentParameters persistent(int64_t P, int64_t M) const {
    return {
        key(), numbers({P, H, M, D}, 1), numbers({P, H, M, D}, 1), {numbers({H}, 0.3), 3}, map()};
  }
};

// One after another, steps are the sequence that the other ops compute at once.
TEST(ContextStep, OneAfterAnotherIsTheSequence) {
  at::manual_seed(1);
  for (const auto type : {at::kFloat, at::kDouble})
    for (const int64_t B : {1, 5, 17}) {
      const Drawn drawn = {3, 14, type, B == 5};
      const ContextParameters parameters = drawn.context();
      const int64_t T = 9, H = drawn.H, D = drawn.D;
      const at::Tensor x = drawn.numbers({B, T, H * D}, 1);
      const Keys keys = extract_keys(x, parameters.key, {}, Precision::kFloat32);
      const at::Tensor raw = raw_values(x, parameters.value, Precision::kFloat32);
      const at::Tensor reads =
          kernel_smoothing(keys.keys, complete_values(raw, parameters.value));  // [B, T, H, D]
      const at::Tensor expected =
          linear(reads.flatten(2), parameters.output.weight, parameters.output.bias);
      PairStorage storage = {at::zeros({B, H, T, D}, x.options()),
                             at::zeros({B, H, T, D}, x.options()), std::vector<int64_t>(B, -1),
                             std::vector<int64_t>(B, 0)};
      const Keys first = extract_keys(x.narrow(1, 0, 1), parameters.key, {}, Precision::kFloat32);
      ContextCarry carry = {first.leaky_average, first.keys.select(1, 0),
                            raw.select(1, 0).contiguous()};
      for (int64_t t = 1; t < T; ++t) {
        for (int64_t b = 0; b < B; ++b) ++storage.slots[b], ++storage.counts[b];
        const ContextStep step =
            context_step(x.narrow(1, t, 1).contiguous(), parameters, carry, storage);
        expect_close(step.y, expected.narrow(1, t, 1));
        carry = step.carry;
      }
      expect_close(carry.leaky_key, keys.leaky_average);
      expect_close(carry.key, keys.keys.select(1, T - 1));
    }
}

TEST(ContextStep, InFloatAgreesWithDoubleForRowsWithDifferentCounts) {
  at::manual_seed(2);
  const Drawn drawn = {2, 20, at::kDouble, true};
  const ContextParameters parameters = drawn.context();
  const auto in_float = [](const LinearMap& map) {
    return LinearMap{map.weight.to(at::kFloat), map.bias.to(at::kFloat)};
  };
  ContextParameters floats = parameters;
  floats.key.projection = in_float(parameters.key.projection);
  floats.key.leak = parameters.key.leak.to(at::kFloat);
  floats.key.scale.x = parameters.key.scale.x.to(at::kFloat);
  floats.value.projection = in_float(parameters.value.projection);
  floats.value.mix = parameters.value.mix.to(at::kFloat);
  floats.value.scale.x = parameters.value.scale.x.to(at::kFloat);
  floats.output = in_float(parameters.output);
  const auto numbers = [&](at::IntArrayRef sizes) { return drawn.numbers(sizes, 1); };
  const ContextCarry last = {numbers({3, 2, 20}), numbers({3, 2, 20}), numbers({3, 2, 20})};
  const PairStorage storage = {
      numbers({3, 2, 30, 20}), numbers({3, 2, 30, 20}), {0, 29, 4}, {1, 30, 17}};
  PairStorage float_storage = storage;
  float_storage.keys = storage.keys.to(at::kFloat);
  float_storage.values = storage.values.to(at::kFloat);
  const at::Tensor x = numbers({3, 1, 40});
  const ContextStep expected = context_step(x, parameters, last, storage);
  const ContextStep actual = context_step(
      x.to(at::kFloat), floats,
      {last.leaky_key.to(at::kFloat), last.key.to(at::kFloat), last.raw_value.to(at::kFloat)},
      float_storage);
  EXPECT_EQ(actual.y.scalar_type(), at::kFloat);
  expect_close(actual.y, expected.y);
  expect_close(float_storage.keys, storage.keys);
  expect_close(float_storage.values, storage.values);
}

TEST(PersistentStep, OneAfterAnotherIsTheSequence) {
  at::manual_seed(3);
  for (const auto type : {at::kFloat, at::kDouble})
    for (const int64_t B : {0, 1, 5, 17})
      for (const int64_t P : {1, 3}) {
        const Drawn drawn = {3, 14, type, P == 3};
        const PersistentParameters parameters = drawn.persistent(P, 37);
        const at::Tensor x = drawn.numbers({B, 4, 42}, 1);
        const at::Tensor keys = extract_keys(x, parameters.key, {}, Precision::kFloat32).keys;
        const at::Tensor reads = mean_slot_read(keys, parameters.slot_keys, parameters.slot_values,
                                                parameters.scale.value());
        const at::Tensor expected =
            linear(reads.flatten(2), parameters.output.weight, parameters.output.bias);
        at::Tensor leaky_key;
        for (int64_t t = 0; t < 4; ++t) {
          const PersistentStep step =
              persistent_step(x.narrow(1, t, 1).contiguous(), parameters, leaky_key);
          expect_close(step.y, expected.narrow(1, t, 1));
          leaky_key = step.leaky_key;
        }
      }
}

/// The same parameters with matrices and slots of this type.
KeyParameters in_type(KeyParameters key, WeightType type) {
  key.projection.weight = stored_as(key.projection.weight, type);
  return key;
}
ContextParameters in_type(ContextParameters parameters, WeightType type) {
  parameters.key = in_type(parameters.key, type);
  parameters.value.projection.weight = stored_as(parameters.value.projection.weight, type);
  parameters.output.weight = stored_as(parameters.output.weight, type);
  return parameters;
}
PersistentParameters in_type(PersistentParameters parameters, WeightType type) {
  parameters.key = in_type(parameters.key, type);
  for (at::Tensor* weight :
       {&parameters.slot_keys, &parameters.slot_values, &parameters.output.weight})
    *weight = stored_as(*weight, type);
  return parameters;
}

// A tolerance for x in whole numbers: a rounding may fall to the other side, and queries of bytes
// have 14 bits.
void expect_nearly_close(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_LT(test::relative_error(actual.to(at::kDouble), expected.to(at::kDouble)), 3e-3);
}

TEST(ContextStep, WithWeightsOfFewerBitsIsComposedOfTheSameOps) {
  at::manual_seed(6);
  for (const WeightType type : kFewerBits)
    for (const int64_t B : {1, 5, 17})
      for (const int64_t D : {14, 32}) {
        const Drawn drawn = {3, D, at::kFloat, B == 5};
        const ContextParameters parameters = in_type(drawn.context(), type);
        const at::Tensor x = drawn.numbers({B, 1, 3 * D}, 1);
        const auto row = [&] { return drawn.numbers({B, 3, D}, 1); };
        const ContextCarry last = {row(), row(), row()};
        const PairStorage storage = {drawn.numbers({B, 3, 9, D}, 1), drawn.numbers({B, 3, 9, D}, 1),
                                     std::vector<int64_t>(B, 4), std::vector<int64_t>(B, 7)};
        const PairStorage copy = {storage.keys.clone(), storage.values.clone(), storage.slots,
                                  storage.counts};
        const ContextStep step = context_step(x, parameters, last, storage);
        const auto [keys, leaky_key] =
            extract_keys(x, parameters.key, last.leaky_key, Precision::kFloat32);
        expect_nearly_close(step.carry.leaky_key, leaky_key);
        expect_nearly_close(step.carry.key, keys.select(1, 0));
        expect_nearly_close(step.carry.raw_value,
                            raw_values(x, parameters.value, Precision::kFloat32).select(1, 0));
        // A batch that is too large for the loop is composed of tensor functions.
        const auto many = [](const at::Tensor& rows) {
          return at::cat(std::vector<at::Tensor>(17, rows));
        };
        const PairStorage all = {many(copy.keys), many(copy.values),
                                 std::vector<int64_t>(17 * B, 4), std::vector<int64_t>(17 * B, 7)};
        const ContextStep composed = context_step(
            many(x), parameters, {many(last.leaky_key), many(last.key), many(last.raw_value)}, all);
        expect_nearly_close(step.y, composed.y.narrow(0, 0, B));
        expect_nearly_close(storage.values, all.values.narrow(0, 0, B));
      }
}

/// A step stores the pair that stored_as() makes of it, and reads it back as the others.
TEST(ContextStep, RoundsThePairThatItStores) {
  at::manual_seed(8);
  for (const WeightType type : kFewerBits)
    for (const int64_t B : {1, 5, 17})  // 17: composed of tensor functions
      for (const int64_t D : {14, 32, 64}) {
        const Drawn drawn = {3, D, at::kFloat, false};
        ContextParameters parameters = drawn.context();
        const at::Tensor x = drawn.numbers({B, 1, 3 * D}, 1);
        const auto row = [&] { return drawn.numbers({B, 3, D}, 1); };
        ContextCarry last = {row(), row(), row()};
        last.key[0][0].zero_();  // a block without a scale
        const at::Tensor keys = stored_as(drawn.numbers({B, 3, 9, D}, 1), type);
        const at::Tensor values = stored_as(drawn.numbers({B, 3, 9, D}, 1), type);
        const std::vector<int64_t> slots(B, 4), counts(B, 7);
        const PairStorage floats = {as_floats(keys, D).clone(), as_floats(values, D).clone(), slots,
                                    counts};
        const PairStorage rounded = {keys.clone(), values.clone(), slots, counts};
        context_step(x, parameters, last, floats);
        const ContextStep step = context_step(x, parameters, last, rounded);
        EXPECT_TRUE(rounded.keys.select(2, 4).equal(stored_as(floats.keys.select(2, 4), type)));
        EXPECT_TRUE(rounded.values.select(2, 4).equal(stored_as(floats.values.select(2, 4), type)));
        for (const int64_t other : {0, 3, 5, 8})
          EXPECT_TRUE(rounded.values.select(2, other).equal(values.select(2, other)));
        const at::Tensor read =
            memory_read(step.carry.key, rounded.keys, rounded.values, at::tensor(counts, at::kLong))
                .value;
        expect_close(step.y, linear(read.flatten(1).unsqueeze(1), parameters.output.weight,
                                    parameters.output.bias));
      }
}

TEST(ContextStep, APairThatIsNotANumberStaysSo) {
  const Drawn drawn = {1, 40, at::kFloat, false};
  for (const WeightType type : kFewerBits)
    for (const float wrong : {std::nanf(""), INFINITY}) {
      const at::Tensor one = drawn.numbers({1, 1, 40}, 1), pairs = at::zeros({1, 1, 2, 40});
      at::Tensor key = one.clone();
      key[0][0][33] = wrong;
      const PairStorage storage = {stored_as(pairs, type), stored_as(pairs, type), {0}, {1}};
      if (!loops_run({})) GTEST_SKIP() << "without loops int8 refuses such numbers";
      context_step(one, drawn.context(), {one, key, one}, storage);
      EXPECT_FALSE(as_floats(storage.keys, 40)[0][0][0][33].isfinite().item<bool>());
      EXPECT_TRUE(as_floats(storage.keys, 40)[0][0][0][31].isfinite().item<bool>());
    }
}

TEST(ContextStep, AValueThatCannotBeRoundedLeavesTheKeyUnstored) {
  const Drawn drawn = {1, 40, at::kFloat, false};
  const int64_t B = 17;  // composed of tensor functions
  const at::Tensor row = drawn.numbers({B, 1, 40}, 1), raw_value = row.clone();
  raw_value[0][0][33] = NAN;
  const at::Tensor none = stored_as(at::zeros({B, 1, 2, 40}), WeightType::kInt8);
  const PairStorage storage = {none.clone(), none.clone(), std::vector<int64_t>(B, 0),
                               std::vector<int64_t>(B, 1)};
  EXPECT_THROW(context_step(row, drawn.context(), {row, row, raw_value}, storage), UsageError);
  EXPECT_TRUE(storage.keys.equal(none));
}

TEST(PersistentStep, WithWeightsOfFewerBitsIsComposedOfTheSameOps) {
  at::manual_seed(7);
  for (const WeightType type : kFewerBits)
    for (const int64_t B : {1, 5})
      for (const int64_t D : {14, 32, 64})
        for (const int64_t M : {0, 3, 37}) {
          const Drawn drawn = {3, D, at::kFloat, B == 5};
          const PersistentParameters parameters = in_type(drawn.persistent(2, M), type);
          const at::Tensor x = drawn.numbers({B, 1, 3 * D}, 1);
          const at::Tensor leaky_key = drawn.numbers({B, 3, D}, 1);
          const PersistentStep step = persistent_step(x, parameters, leaky_key);
          const Keys keys = extract_keys(x, parameters.key, leaky_key, Precision::kFloat32);
          const at::Tensor reads =
              mean_slot_read(keys.keys, as_floats(parameters.slot_keys, D),
                             as_floats(parameters.slot_values, D), parameters.scale.value());
          expect_nearly_close(step.leaky_key, keys.leaky_average);
          const at::Tensor y =
              linear(reads.flatten(2), parameters.output.weight, parameters.output.bias);
          if (M > 0)
            expect_nearly_close(step.y, y);
          else
            EXPECT_TRUE(step.y.allclose(y));
        }
}

/// Sequences that are written side by side must not change one another.
TEST(PersistentStep, ASequenceHasTheBitsThatItHasAlone) {
  if (!loops_run({})) GTEST_SKIP() << "a promise of the loops, which need AVX2";
  at::manual_seed(9);
  for (const WeightType type : {WeightType::kFloat32, WeightType::kBFloat16, WeightType::kInt8})
    for (const int64_t B : {2, 3, 4, 7, 16})
      for (const int64_t D : {14, 64, 100})
        for (const int64_t M : {1, 37, 64}) {
          const Drawn drawn = {3, D, at::kFloat, true};
          const PersistentParameters parameters = in_type(drawn.persistent(2, M), type);
          const at::Tensor x = drawn.numbers({B, 1, 3 * D}, 1);
          const at::Tensor leaky_key = drawn.numbers({B, 3, D}, 1);
          const at::Tensor together = persistent_step(x, parameters, leaky_key).y;
          for (int64_t b = 0; b < B; ++b)
            EXPECT_TRUE(persistent_step(x.narrow(0, b, 1), parameters, leaky_key.narrow(0, b, 1))
                            .y.equal(together.narrow(0, b, 1)))
                << "sequence " << b << " of " << B << ", " << M << " slots of " << D;
        }
}

TEST(PersistentStep, SlotsOfFewerBitsAnswerAsTheirFloats) {
  at::manual_seed(8);
  const Drawn drawn = {2, 40, at::kFloat, false};
  for (const WeightType type : kFewerBits) {
    PersistentParameters floats = drawn.persistent(1, 50);
    PersistentParameters fewer = in_type(floats, type);
    floats.slot_keys = as_floats(fewer.slot_keys, 40);
    floats.slot_values = as_floats(fewer.slot_values, 40);
    const at::Tensor queries = drawn.numbers({3, 5, 2, 40}, 0.3);
    expect_close(
        mean_slot_read(queries, fewer.slot_keys, fewer.slot_values, at::ones({2})),
        mean_slot_read(queries, floats.slot_keys, floats.slot_values, at::ones({2}), {},
                       softmax_reads_round() ? Precision::kBFloat16 : Precision::kFloat32));
  }
}

TEST(ContextStep, RefusesBadArgumentsAndChangesNothing) {
  const Drawn drawn = {2, 4, at::kFloat, true};
  const ContextParameters parameters = drawn.context();
  const at::Tensor x = at::randn({2, 1, 8}), row = at::randn({2, 2, 4});
  const ContextCarry last = {row, row, row};
  const PairStorage storage = {at::zeros({2, 2, 5, 4}), at::zeros({2, 2, 5, 4}), {0, 4}, {1, 5}};
  const auto refuses = [&](const at::Tensor& input, const ContextParameters& with,
                           const ContextCarry& carry, const PairStorage& pairs) {
    EXPECT_THROW(context_step(input, with, carry, pairs), UsageError);
    EXPECT_EQ(storage.keys.abs().sum().item<float>() + storage.values.abs().sum().item<float>(), 0);
  };
  refuses(at::randn({2, 2, 8}), parameters, last, storage);
  refuses(at::randn({3, 1, 8}), parameters, last, storage);
  refuses(at::randn({2, 1, 7}), parameters, last, storage);
  refuses(x.to(at::kDouble), parameters, last, storage);
  refuses(x, parameters, {row, row, at::randn({2, 2, 5})}, storage);
  refuses(x, parameters, {row, at::Tensor(), row}, storage);
  for (const auto& [slots, counts] :
       std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>>{
           {{0, 5}, {1, 5}}, {{-1, 4}, {1, 5}}, {{0, 4}, {0, 5}}, {{0, 4}, {1, 6}}, {{0}, {1}}})
    refuses(x, parameters, last, {storage.keys, storage.values, slots, counts});
  refuses(x, parameters, last, {storage.keys, at::zeros({2, 2, 4, 4}), {0, 1}, {1, 2}});
  ContextParameters bad = parameters;
  bad.value.mix = at::randn({3});
  refuses(x, bad, last, storage);
  bad = parameters;
  bad.output.weight = at::randn({8, 7});
  refuses(x, bad, last, storage);
}

TEST(PersistentStep, RefusesBadArguments) {
  const Drawn drawn = {2, 4, at::kFloat, false};
  const PersistentParameters parameters = drawn.persistent(1, 3);
  const at::Tensor x = at::randn({2, 1, 8});
  EXPECT_THROW(persistent_step(at::randn({2, 1, 7}), parameters, {}), UsageError);
  EXPECT_THROW(persistent_step(at::randn({2, 2, 8}), parameters, {}), UsageError);
  EXPECT_THROW(persistent_step(x, parameters, at::randn({3, 2, 4})), UsageError);
  EXPECT_THROW(persistent_step(x, drawn.persistent(0, 3), {}), UsageError);
  PersistentParameters bad = parameters;
  bad.slot_values = at::randn({1, 2, 4, 4});
  EXPECT_THROW(persistent_step(x, bad, {}), UsageError);
  bad = parameters;
  bad.scale.x = at::randn({3});
  EXPECT_THROW(persistent_step(x, bad, {}), UsageError);
}

}  // namespace
}  // namespace tessera::ops
