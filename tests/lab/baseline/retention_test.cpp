#include "lab/baseline/retention.h"

#include "tessera/base/error.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

at::Tensor two_decays() {
  return at::tensor({0.5, 0.75}, real());
}

TEST(Retention, HandExample) {
  // One channel, decay 1/2. S: 1 * 4 = 4, then 4 / 2 + 2 * 3 = 8, then 8 / 2 - 1 * 1 = 3.
  const auto row = [](double a, double b, double c) {
    return at::tensor({a, b, c}, real()).view({1, 3, 1, 1});
  };
  const auto [reads, state] =
      retention(row(1, 2, -1), row(1, 2, -1), row(4, 3, 1), at::tensor({0.5}, real()));
  EXPECT_LT(test::relative_error(reads, row(4, 16, -3)), 1e-12);
  EXPECT_NEAR(state.item<double>(), 3, 1e-12);
}

/// The recurrent form, one head after the other (Sun et al. 2023, eq. 6).
Retained loop(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
              const at::Tensor& decays, const at::Tensor& before) {
  at::Tensor reads = at::zeros_like(v), state = before.clone();
  for (int64_t b = 0; b < q.size(0); ++b)
    for (int64_t h = 0; h < q.size(2); ++h)
      for (int64_t t = 0; t < q.size(1); ++t) {
        state[b][h] = decays[h] * state[b][h] + at::outer(k[b][t][h], v[b][t][h]);
        reads[b][t][h] = at::mv(state[b][h].t(), q[b][t][h]);
      }
  return {reads, state};
}

TEST(Retention, EqualsTheLoop) {
  at::manual_seed(1);
  const at::Tensor q = at::randint(-3, 4, {2, 7, 2, 3}, real()),
                   k = at::randint(-3, 4, {2, 7, 2, 3}, real());
  const at::Tensor v = at::randint(-9, 9, {2, 7, 2, 5}, real());
  const at::Tensor before = at::randint(-3, 4, {2, 2, 3, 5}, real());
  const Retained expected = loop(q, k, v, two_decays(), before);
  for (const int64_t chunk : {1, 2, 3, 7, 100}) {
    const auto [reads, state] = retention(q, k, v, two_decays(), before, chunk);
    EXPECT_LT(test::relative_error(reads, expected.reads), 1e-12) << chunk;
    EXPECT_LT(test::relative_error(state, expected.state), 1e-12) << chunk;
  }
  const Retained from_nothing = loop(q, k, v, two_decays(), at::zeros_like(before));
  EXPECT_LT(test::relative_error(retention(q, k, v, two_decays()).reads, from_nothing.reads),
            1e-12);
}

TEST(Retention, GoesOnFromItsState) {
  at::manual_seed(2);
  const at::Tensor q = at::randn({2, 9, 2, 4}, real()), k = at::randn({2, 9, 2, 4}, real());
  const at::Tensor v = at::randn({2, 9, 2, 3}, real());
  const Retained whole = retention(q, k, v, two_decays());
  const auto part = [&](int64_t first, int64_t length, const at::Tensor& state) {
    return retention(q.narrow(1, first, length), k.narrow(1, first, length),
                     v.narrow(1, first, length), two_decays(), state);
  };
  const Retained one = part(0, 4, {}), none = part(4, 0, one.state), rest = part(4, 5, none.state);
  EXPECT_TRUE(none.state.equal(one.state));
  EXPECT_EQ(none.reads.sizes(), (std::vector<int64_t>{2, 0, 2, 3}));
  EXPECT_LT(test::relative_error(at::cat({one.reads, rest.reads}, 1), whole.reads), 1e-12);
  EXPECT_LT(test::relative_error(rest.state, whole.state), 1e-12);
}

TEST(Retention, OneStepReadsItsOwnValue) {
  const at::Tensor q = at::randn({1, 1, 2, 3}, real()), k = at::randn({1, 1, 2, 3}, real());
  const at::Tensor v = at::randn({1, 1, 2, 4}, real());
  EXPECT_LT(test::relative_error(retention(q, k, v, two_decays()).reads,
                                 (q * k).sum(-1, /*keepdim=*/true) * v),
            1e-12);
}

TEST(Retention, GradientsAgreeWithCentralDifferences) {
  at::manual_seed(3);
  const auto op = [](const std::vector<at::Tensor>& in) {
    const auto [reads, state] = retention(in[0], in[1], in[2], two_decays(), in[3], 3);
    return at::cat({reads.flatten(), state.flatten()});
  };
  EXPECT_TRUE(test::gradients_agree(
      op, {leaf({1, 5, 2, 2}), leaf({1, 5, 2, 2}), leaf({1, 5, 2, 3}), leaf({1, 2, 2, 3})}));
}

TEST(Retention, FloatAgreesWithDoubleOverLongSequences) {
  at::manual_seed(4);
  const OpUnderTest op = [](const std::vector<at::Tensor>& in) {
    const at::Tensor decays = at::tensor({1 - 1.0 / 32, 1 - 1.0 / 4096}, in[0].options());
    return retention(in[0], in[1], in[2], decays.detach()).reads;
  };
  for (const int64_t T : {1, 2, 127, 128, 129, 400})
    expect_float_agrees_with_double(
        op, {at::randn({2, T, 2, 8}, real()), at::randn({2, T, 2, 8}, real()),
             at::randn({2, T, 2, 16}, real())});
}

TEST(Retention, TheFutureDoesNotReachThePast) {
  at::manual_seed(5);
  at::Tensor q = at::randn({1, 300, 2, 4}), k = at::randn({1, 300, 2, 4}),
             v = at::randn({1, 300, 2, 4});
  const at::Tensor decays = two_decays().to(at::kFloat), before = retention(q, k, v, decays).reads;
  k.narrow(1, 200, 100).mul_(-2);
  v.narrow(1, 200, 100).add_(3);
  const at::Tensor after = retention(q, k, v, decays).reads;
  EXPECT_TRUE(after.narrow(1, 0, 200).equal(before.narrow(1, 0, 200)));
  EXPECT_FALSE(after.select(1, 200).equal(before.select(1, 200)));
}

TEST(Retention, RefusesBadArguments) {
  const at::Tensor x = at::randn({2, 3, 2, 4}), decays = two_decays().to(at::kFloat);
  EXPECT_NO_THROW(retention(x, x, x, decays));
  EXPECT_THROW(retention(x[0], x, x, decays), UsageError);
  EXPECT_THROW(retention(x, x.narrow(3, 0, 2), x, decays), UsageError);
  EXPECT_THROW(retention(x, x, x.narrow(1, 0, 2), decays), UsageError);
  EXPECT_THROW(retention(x, x, x.to(at::kDouble), decays), UsageError);
  EXPECT_THROW(retention(x, x, x, decays.narrow(0, 0, 1)), UsageError);
  EXPECT_THROW(retention(x, x, x, decays.clone().requires_grad_()), UsageError);
  EXPECT_THROW(retention(x, x, x, decays, at::zeros({2, 2, 4, 3})), UsageError);
  EXPECT_THROW(retention(x, x, x, decays, {}, 0), UsageError);
}

}  // namespace
}  // namespace tessera::ops
