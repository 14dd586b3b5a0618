#include "lab/baseline/gated_deltanet.h"

#include "tessera/base/error.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

/// What the rule reads, drawn: keys of length 1, decays in (0, 1), rates in (0, 1).
struct DeltaInputs {
  at::Tensor queries, keys, values, log_decays, rates, state;

  DeltaInputs(int64_t B, int64_t T, int64_t H, int64_t D, int64_t E)
      : queries(at::randn({B, T, H, D}, real())),
        keys(at::randn({B, T, H, D}, real())),
        values(at::randn({B, T, H, E}, real())),
        log_decays(-at::rand({B, T, H}, real())),
        rates(at::rand({B, T, H}, real())),
        state(at::randn({B, H, D, E}, real())) {
    keys = keys / keys.norm(2, {3}, /*keepdim=*/true);
  }

  Retained run(int64_t chunk = 64) const {
    return gated_delta_rule(queries, keys, values, log_decays, rates, state, chunk);
  }
  /// Steps first … first + length - 1 after `before`.
  Retained run_part(int64_t first, int64_t length, const at::Tensor& before) const {
    const auto part = [&](const at::Tensor& x) { return x.narrow(1, first, length); };
    return gated_delta_rule(part(queries), part(keys), part(values), part(log_decays), part(rates),
                            before);
  }
};

/// The recurrence as it is written (Yang et al. 2024, section 3.1), one head after the other.
Retained delta_loop(const DeltaInputs& in) {
  at::Tensor reads = at::zeros_like(in.values), state = in.state.clone();
  const at::Tensor identity = at::eye(in.keys.size(3), real());
  for (int64_t b = 0; b < in.keys.size(0); ++b)
    for (int64_t h = 0; h < in.keys.size(2); ++h)
      for (int64_t t = 0; t < in.keys.size(1); ++t) {
        const at::Tensor k = in.keys[b][t][h], rate = in.rates[b][t][h];
        state[b][h] =
            in.log_decays[b][t][h].exp() * at::mm(identity - rate * at::outer(k, k), state[b][h]) +
            rate * at::outer(k, in.values[b][t][h]);
        reads[b][t][h] = at::mv(state[b][h].t(), in.queries[b][t][h]);
      }
  return {reads, state};
}

TEST(GatedDeltaRule, HandExample) {
  // One channel, keys 1, decay 1/2, rate 1/2. S: 4 / 2 = 2; (2 / 2) / 2 + 3 / 2 = 2; 1/2 + 1/2 = 1.
  const auto row = [](double a, double b, double c) {
    return at::tensor({a, b, c}, real()).view({1, 3, 1, 1});
  };
  const at::Tensor half = at::full({1, 3, 1}, 0.5, real());
  const auto [reads, state] =
      gated_delta_rule(row(1, 2, -1), row(1, 1, 1), row(4, 3, 1), half.log(), half);
  EXPECT_LT(test::relative_error(reads, row(2, 4, -1)), 1e-12);
  EXPECT_NEAR(state.item<double>(), 1, 1e-12);
}

TEST(GatedDeltaRule, AtRateOneAKeyHoldsItsLastValueAlone) {
  const at::Tensor key = at::tensor({0.6, 0.8}, real()).expand({1, 3, 1, 2});
  const at::Tensor values = at::tensor({1., 2., 7., -3., 5., 4.}, real()).view({1, 3, 1, 2});
  const at::Tensor none = at::zeros({1, 3, 1}, real());
  EXPECT_LT(test::relative_error(
                gated_delta_rule(key, key, values, none, at::ones_like(none)).reads, values),
            1e-12);
}

TEST(GatedDeltaRule, EqualsTheRecurrence) {
  at::manual_seed(1);
  DeltaInputs in(2, 7, 2, 3, 5);
  const Retained expected = delta_loop(in);
  for (const int64_t chunk : {1, 2, 3, 7, 100}) {
    const auto [reads, state] = in.run(chunk);
    EXPECT_LT(test::relative_error(reads, expected.reads), 1e-12) << chunk;
    EXPECT_LT(test::relative_error(state, expected.state), 1e-12) << chunk;
  }
  in.state = at::zeros_like(in.state);
  const Retained from_nothing = delta_loop(in);
  in.state = at::Tensor();
  EXPECT_LT(test::relative_error(in.run().reads, from_nothing.reads), 1e-12);
}

TEST(GatedDeltaRule, FastDecaysNeitherOverflowNorVanish) {
  // A chunk forgets by exp(-60 * 64), which no double holds.
  at::manual_seed(6);
  DeltaInputs in(1, 130, 1, 4, 4);
  in.log_decays = -60 * at::rand({1, 130, 1}, real());
  const Retained expected = delta_loop(in), actual = in.run();
  EXPECT_LT(test::relative_error(actual.reads, expected.reads), 1e-12);
  EXPECT_LT(test::relative_error(actual.state, expected.state), 1e-12);
}

TEST(GatedDeltaRule, GoesOnFromItsState) {
  at::manual_seed(2);
  const DeltaInputs in(2, 9, 2, 4, 3);
  const Retained whole = in.run(), one = in.run_part(0, 4, in.state),
                 none = in.run_part(4, 0, one.state), rest = in.run_part(4, 5, none.state);
  EXPECT_TRUE(none.state.equal(one.state));
  EXPECT_EQ(none.reads.sizes(), (std::vector<int64_t>{2, 0, 2, 3}));
  EXPECT_LT(test::relative_error(at::cat({one.reads, rest.reads}, 1), whole.reads), 1e-12);
  EXPECT_LT(test::relative_error(rest.state, whole.state), 1e-12);
}

TEST(GatedDeltaRule, GradientsAgreeWithCentralDifferences) {
  at::manual_seed(3);
  const auto op = [](const std::vector<at::Tensor>& in) {
    const auto [reads, state] =
        gated_delta_rule(in[0], in[1], in[2], -in[3].exp(), in[4].sigmoid(), in[5], 3);
    return at::cat({reads.flatten(), state.flatten()});
  };
  EXPECT_TRUE(test::gradients_agree(op, {leaf({1, 5, 2, 2}), leaf({1, 5, 2, 2}), leaf({1, 5, 2, 3}),
                                         leaf({1, 5, 2}), leaf({1, 5, 2}), leaf({1, 2, 2, 3})}));
}

TEST(GatedDeltaRule, FloatAgreesWithDoubleOverLongSequences) {
  at::manual_seed(4);
  const OpUnderTest op = [](const std::vector<at::Tensor>& in) {
    return gated_delta_rule(in[0], in[1], in[2], in[3], in[4]).reads;
  };
  for (const int64_t T : {1, 63, 64, 65, 200}) {
    DeltaInputs in(2, T, 2, 8, 16);
    expect_float_agrees_with_double(op,
                                    {in.queries, in.keys, in.values, in.log_decays / 16, in.rates});
  }
}

TEST(GatedDeltaRule, TheFutureDoesNotReachThePast) {
  at::manual_seed(5);
  DeltaInputs in(1, 150, 2, 4, 4);
  const at::Tensor before = in.run().reads;
  for (const auto& x : {in.keys, in.values, in.log_decays, in.rates})
    x.narrow(1, 100, 50).mul_(0.5);
  const at::Tensor after = in.run().reads;
  EXPECT_LT(test::relative_error(after.narrow(1, 0, 100), before.narrow(1, 0, 100)), 1e-14);
  EXPECT_GT(test::relative_error(after.select(1, 100), before.select(1, 100)), 1e-3);
}

TEST(GatedDeltaRule, RefusesBadArguments) {
  const at::Tensor x = at::randn({2, 3, 2, 4}), rates = at::rand({2, 3, 2});
  EXPECT_NO_THROW(gated_delta_rule(x, x, x, -rates, rates));
  EXPECT_THROW(gated_delta_rule(x[0], x, x, -rates, rates), UsageError);
  EXPECT_THROW(gated_delta_rule(x, x.narrow(3, 0, 2), x, -rates, rates), UsageError);
  EXPECT_THROW(gated_delta_rule(x, x, x.narrow(1, 0, 2), -rates, rates), UsageError);
  EXPECT_THROW(gated_delta_rule(x, x, x.to(at::kDouble), -rates, rates), UsageError);
  EXPECT_THROW(gated_delta_rule(x, x, x, rates[0], rates), UsageError);
  EXPECT_THROW(gated_delta_rule(x, x, x, -rates, rates[0]), UsageError);
  EXPECT_THROW(gated_delta_rule(x, x, x, -rates, rates, at::zeros({2, 2, 4, 3})), UsageError);
  EXPECT_THROW(gated_delta_rule(x, x, x, -rates, rates, {}, 0), UsageError);
}

}  // namespace
}  // namespace tessera::ops
