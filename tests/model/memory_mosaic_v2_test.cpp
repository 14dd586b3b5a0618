#include "tessera/model/memory_mosaic_v2.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tessera/base/error.h"
#include "tests/model/slow_network.h"
#include "tests/support/numerical_gradient.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::Matrix;
using test::shake;
using test::Vector;

class SlowMosaicV2 : public test::SlowNetwork {
 public:
  explicit SlowMosaicV2(const MemoryMosaicV2& model)
      : SlowNetwork(model, model.configuration()), config_(model.configuration()) {}

 private:
  void pass_block(Matrix& x, const std::string& block) const override {
    const Matrix normed = norm(x, block + "context_norm");
    Matrix reads = tier(normed, block + "context.short_term.", 1, config_.short_term_pairs());
    const Matrix older = tier(normed, block + "context.long_term.", config_.first_delay(), 1 << 20);
    for (size_t t = 0; t < x.size(); ++t)
      reads[t].insert(reads[t].end(), older[t].begin(), older[t].end());
    add(x, linear(reads, block + "context.output"));
    Matrix wide = linear(norm(x, block + "persistent_norm"), block + "expand");
    for (Vector& row : wide) {
      const size_t half = row.size() / 2;
      for (size_t c = 0; c < half; ++c) row[c] *= row[half + c] / (1 + std::exp(-row[c]));
      row.resize(half);
    }
    add(x, linear(wide, block + "contract"));
  }

  /// Step t reads the pairs i <= t - delay, at most the last `most`.
  Matrix tier(const Matrix& x, const std::string& name, int64_t delay, int64_t most) const {
    Matrix k = linear(x, name + "key");
    const Matrix gates = linear(x, name + "gates");
    for (size_t t = 0; t < x.size(); ++t)
      for (int64_t c = 0; c < heads_ * width_; ++c) {
        const int64_t h = c / width_;
        k[t][c] = std::exp(gates[t][h]) * k[t][c] +
                  (t > 0 ? std::exp(-std::abs(gates[t][heads_ + h])) * k[t - 1][c] : 0);
      }
    rescale(k, [](int64_t) { return 1; });
    Matrix values = peek_average(linear(x, name + "value"), name + "mix");
    rescale(values, [&](int64_t h) {
      return std::exp(std::min(std::abs(at(name + "value_log_scale")[h]), 15.0));
    });
    Matrix reads(x.size(), Vector(heads_ * width_));
    for (int64_t t = delay; t < std::ssize(x); ++t) {
      const int64_t first = std::max<int64_t>(0, t - delay + 1 - most), n = t - delay + 1 - first;
      for (int64_t h = 0; h < heads_; ++h) {
        const double alpha = std::min(std::abs(at(name + "bandwidth_exponent")[h]), 1.0);
        const double beta =
            std::exp(std::min(at(name + "bandwidth_log_factor")[h], 10.0)) * std::pow(n, alpha) +
            std::exp(std::min(at(name + "bandwidth_log_offset")[h], 10.0));
        double total = 0;
        for (int64_t i = first; i < first + n; ++i) {
          const double weight = std::exp(beta * product(k[t], k[i], h));
          total += weight;
          for (int64_t c = h * width_; c < (h + 1) * width_; ++c)
            reads[t][c] += weight * values[i][c];
        }
        for (int64_t c = h * width_; c < (h + 1) * width_; ++c) reads[t][c] /= total;
      }
    }
    return reads;
  }

  MemoryMosaicV2Config config_;
};

MemoryMosaicV2Config small_v2() {
  return {.vocabulary = 11,
          .window = 12,
          .layers = 2,
          .heads = 3,
          .channels = 12,
          .short_term = 4,
          .delay = 3,
          .longest_delay = 6,
          .persistent_width = 10,
          .dropout = 0};
}

at::Tensor some_tokens(int64_t batch, int64_t length) {
  return (at::arange(batch * length, at::kLong).square() * 7 +
          at::arange(batch * length, at::kLong))
      .remainder(11)
      .view({batch, length});
}

TEST(MemoryMosaicV2, AgreesWithTheFormulasWrittenOut) {
  for (bool bias : {false, true}) {
    auto config = small_v2();
    config.bias = bias;
    MemoryMosaicV2 model(config);
    SCOPED_TRACE(bias);
    test::expect_formulas<SlowMosaicV2>(model,
                                        {{3}, {3, 3}, {1, 2, 10, 0, 2, 2, 7, 9, 1, 4, 4, 8}});
  }
}

/// Rows whose long-term memories begin at different times, then forked in the middle of the delay.
TEST(MemoryMosaicV2, RowsOfUnequalLengthsAndForksGoOnByThemselves) {
  MemoryMosaicV2 model(small_v2());
  shake(model);
  at::NoGradGuard no_grad;
  const at::Tensor tokens = some_tokens(1, 40), other = some_tokens(2, 20)[1].unsqueeze(0);
  SequenceState early = model.read(tokens.narrow(1, 0, 1), model.empty_state()).state;
  SequenceState late = model.read(other.narrow(1, 0, 9), model.empty_state()).state;
  SequenceState both = SequenceState::stack({&early, &late});
  for (int64_t step = 0; step < 6; ++step) {
    const SequenceState fork = both;
    const at::Tensor next = at::cat({tokens.narrow(1, 1 + step, 1), other.narrow(1, 9 + step, 1)});
    SequenceOutput read = model.read(next, std::move(both));
    both = std::move(read.state);
    EXPECT_LT(test::relative_error(read.outputs[0],
                                   model.hidden(tokens.narrow(1, 0, 2 + step))[0].slice(0, -1)),
              1e-5);
    EXPECT_LT(test::relative_error(read.outputs[1],
                                   model.hidden(other.narrow(1, 0, 10 + step))[0].slice(0, -1)),
              1e-5);
    const at::Tensor elsewhere = at::cat({tokens.narrow(1, 0, 1 + step), other.narrow(1, 0, 5)}, 1);
    const SequenceOutput forked = model.read(other.narrow(1, 0, 5), fork.select({0}));
    EXPECT_LT(test::relative_error(forked.outputs, model.hidden(elsewhere).slice(1, -5)), 1e-5);
    const SequenceOutput together =
        model.read(other.narrow(1, 0, 5).repeat({2, 1}), SequenceState(fork));
    EXPECT_LT(test::relative_error(together.outputs[0], forked.outputs[0]), 1e-5);
    const at::Tensor longer = at::cat({other.narrow(1, 0, 9 + step), other.narrow(1, 0, 5)}, 1);
    EXPECT_LT(test::relative_error(together.outputs[1], model.hidden(longer)[0].slice(0, -5)),
              1e-5);
  }
}

TEST(MemoryMosaicV2, RefusesTheStateOfAnotherDelayOrShortTermMemory) {
  MemoryMosaicV2 model(small_v2());
  auto later = small_v2(), shorter = small_v2();
  later.delay = 4;
  shorter.short_term = 2;
  for (const auto& config : {later, shorter}) {
    MemoryMosaicV2 other(config);
    SequenceState state = other.read(some_tokens(2, 9), other.empty_state()).state;
    EXPECT_THROW(model.read(some_tokens(2, 3), std::move(state)), UsageError);
    EXPECT_EQ(state.rows(), 2);
  }
}

TEST(MemoryMosaicV2, DrawsItsDelayInTraining) {
  MemoryMosaicV2 model(small_v2());
  shake(model);
  at::NoGradGuard no_grad;
  const at::Tensor tokens = some_tokens(2, 12);
  std::vector<at::Tensor> of_delay;
  for (int64_t delay = 3; delay <= 6; ++delay) {
    auto config = small_v2();
    config.delay = delay;
    MemoryMosaicV2 other(config);
    for (const auto& parameter : model.named_parameters())
      other.named_parameters()[parameter.key()].copy_(parameter.value());
    of_delay.push_back(other.hidden(tokens));
  }
  EXPECT_TRUE(model.hidden(tokens).equal(of_delay[0]));  // not drawn without a seed
  std::set<size_t> drawn;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const at::Tensor hidden = model.hidden(tokens, seed);
    const auto found = std::find_if(of_delay.begin(), of_delay.end(),
                                    [&](const at::Tensor& one) { return one.equal(hidden); });
    ASSERT_NE(found, of_delay.end()) << seed;
    drawn.insert(found - of_delay.begin());
  }
  EXPECT_EQ(drawn.size(), 4u);
}

TEST(MemoryMosaicV2, SizesScaleWithTheWindowUnlessGiven) {
  MemoryMosaicV2Config config;
  config.window = 4096;  // the paper's
  EXPECT_EQ(config.short_term_pairs(), 256);
  EXPECT_EQ(config.first_delay(), 64);
  EXPECT_EQ(config.last_delay(), 256);
  config.window = 20;
  EXPECT_EQ(config.short_term_pairs(), 1);
  EXPECT_EQ(config.first_delay(), 1);
  EXPECT_EQ(config.last_delay(), 1);
  config.delay = 7;
  EXPECT_EQ(config.last_delay(), 7);
}

TEST(MemoryMosaicV2, StartsAsPublished) {
  MemoryMosaicV2Config config = small_v2();
  config.channels = 96;
  config.persistent_width = 400;
  const MemoryMosaicV2 model(config);
  for (int64_t layer = 0; layer < 2; ++layer) {
    const MosaicV2Block block = model.block(layer);
    const auto expect_cut_normal = [&](const at::Tensor& weight, double fan_in) {
      const double deviation = 1 / std::sqrt(2 * fan_in * (layer + 1));
      EXPECT_LE(weight.abs().max().item<double>(), 3.0001 * deviation);
      EXPECT_GT(weight.abs().max().item<double>(), 2.5 * deviation);
      // The cut takes 1.35 % off the deviation.
      EXPECT_NEAR(weight.std().item<double>() / (0.9865 * deviation), 1, 0.03);
    };
    const ContextTier tier = block->context->long_term;
    expect_cut_normal(tier->key->weight, 96);
    expect_cut_normal(tier->value->weight, 96);
    expect_cut_normal(block->context->output->weight, 192);
    expect_cut_normal(block->expand->weight, 96);
    expect_cut_normal(block->contract->weight, 400);
    EXPECT_EQ(tier->bandwidth_log_offset[0].item<float>(), 1.5f);
    EXPECT_EQ(tier->bandwidth_log_factor[2].item<float>(), 1.5f);
    EXPECT_EQ(tier->bandwidth_exponent[1].item<float>(), static_cast<float>(1.0 / 3));
    EXPECT_EQ(tier->value_log_scale[1].item<float>(), 0);
    EXPECT_TRUE(tier->mix.ge(0).logical_and(tier->mix.lt(1)).all().item<bool>());
    EXPECT_FALSE(tier->mix[0].equal(tier->mix[1]));
  }
}

TEST(MemoryMosaicV2, TheScaleOfTheValuesLeavesItsStart) {
  MemoryMosaicV2 model(small_v2());
  const at::Tensor tokens = some_tokens(2, 12);
  model.loss(tokens.slice(1, 0, 11), tokens.slice(1, 1)).backward();
  EXPECT_GT(model.block(1)->context->short_term->value_log_scale.grad().abs().max().item<double>(),
            0);
}

/// V C + C + per block: two norms 2 C; per tier W_φ, W_ψ 2 C^2, gates 2 H C and 5 scalars a head;
/// W_o 2 C^2; SwiGLU 3 d' C.
TEST(MemoryMosaicV2, HasTheParametersOfItsEquations) {
  const auto count = [](int64_t layers, int64_t C, int64_t H, int64_t width, int64_t V) {
    const MemoryMosaicV2Config config{
        .vocabulary = V, .layers = layers, .heads = H, .channels = C, .persistent_width = width};
    return MemoryMosaicV2(config, std::nullopt, at::kMeta).parameter_count();
  };
  EXPECT_EQ(count(1, 8, 2, 5, 3), 3 * 8 + 8 + 2 * 8 + 2 * (2 * 64 + 32 + 10) + 2 * 64 + 3 * 5 * 8);
  // The large published network: 9.9 billion with the logits' matrix apart, which is tied here.
  const int64_t tied = count(32, 4096, 32, 0, 128256);
  EXPECT_NEAR(1e-9 * static_cast<double>(tied + 128256 * 4096), 9.9, 0.05);
}

TEST(MemoryMosaicV2, RefusesImpossibleSizes) {
  const auto refuses = [](auto change, const std::string& field) {
    auto config = small_v2();
    change(config);
    EXPECT_THAT(test::message_of<UsageError>([&] { config.check(); }),
                testing::HasSubstr("model." + field));
  };
  refuses([](auto& config) { config.heads = 5; }, "heads");
  refuses([](auto& config) { config.channels = INT64_MAX; }, "channels");
  refuses([](auto& config) { config.vocabulary = -1; }, "vocabulary");
  refuses([](auto& config) { config.layers = 0; }, "layers");
  refuses([](auto& config) { config.short_term = -1; }, "short_term");
  refuses([](auto& config) { config.delay = -1; }, "delay");
  refuses([](auto& config) { config.longest_delay = 2; }, "longest_delay");
  refuses([](auto& config) { config.longest_delay = 12; }, "longest_delay");
  refuses([](auto& config) { config.persistent_width = -3; }, "persistent_width");
  refuses([](auto& config) { config.dropout = 1; }, "dropout");
}

}  // namespace
}  // namespace tessera
