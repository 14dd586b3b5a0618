#include "tessera/model/memory_mosaic.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tessera/base/error.h"
#include "tests/model/slow_network.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::Matrix;
using test::Vector;

class SlowMosaic : public test::SlowNetwork {
 public:
  explicit SlowMosaic(const MemoryMosaic& model)
      : SlowNetwork(model, model.configuration()), config_(model.configuration()) {
    nano_ = config_.parameterisation == Parameterisation::kNano;
  }

 private:
  double logit_scale() const override { return nano_ ? 1 : 1 / std::sqrt(config_.channels); }

  void pass_block(Matrix& x, const std::string& block) const override {
    add(x, context(norm(x, block + "context_norm"), block + "context."));
    add(x, persistent(norm(x, block + "persistent_norm"), block + "persistent."));
  }

  Matrix keys(const Matrix& x, const std::string& name, int power) const {
    Matrix averages = linear(x, name + "key.projection");
    for (size_t t = 1; t < x.size(); ++t)
      for (int64_t c = 0; c < config_.channels; ++c)
        averages[t][c] +=
            std::exp(-std::abs(10 * at(name + "key.leak")[c / width_])) * averages[t - 1][c];
    rescale(averages, [&](int64_t h) {
      const double log_scale = 10 * at(name + "key.log_scale")[h];
      return nano_ ? std::exp(std::min(power * log_scale, std::log(65535.0)))
                   : std::pow(std::exp(std::min(log_scale, 5.0)), power);
    });
    return averages;
  }

  Matrix context(const Matrix& x, const std::string& name) const {
    const Matrix k = keys(x, name, 1);
    Matrix values = peek_average(linear(x, name + "value.projection"), name + "value.mix");
    rescale(values, [&](int64_t h) { return std::exp(10 * at(name + "value.log_scale")[h]); });
    Matrix reads(x.size(), Vector(config_.channels));
    for (size_t t = 1; t < x.size(); ++t)
      for (int64_t h = 0; h < config_.heads; ++h) {
        double total = 0;
        Vector weights(t);
        for (size_t i = 0; i < t; ++i) total += weights[i] = std::exp(product(k[t], k[i], h));
        for (size_t i = 0; i < t; ++i)
          for (int64_t c = h * width_; c < (h + 1) * width_; ++c)
            reads[t][c] += weights[i] / total * values[i][c];
      }
    return linear(reads, name + "output");
  }

  Matrix persistent(const Matrix& x, const std::string& name) const {
    const Matrix k = keys(x, name, 2);
    const int64_t M = config_.slots(), H = config_.heads, P = config_.persistent_count;
    Matrix reads(x.size(), Vector(config_.channels));
    for (size_t t = 0; t < x.size(); ++t)
      for (int64_t p = 0; p < P; ++p)
        for (int64_t h = 0; h < H; ++h) {
          double total = 0;
          Vector weights(M);
          const auto slot = [&](int64_t m, int64_t d) {
            return ((p * H + h) * M + m) * width_ + d;
          };
          for (int64_t m = 0; m < M; ++m) {
            double score = 0;
            for (int64_t d = 0; d < width_; ++d)
              score += k[t][h * width_ + d] * at(name + "slot_keys")[slot(m, d)];
            total += weights[m] = std::exp(score);
          }
          const double scale = std::exp(10 * at(name + "log_scale")[h]) / P;
          for (int64_t m = 0; m < M; ++m)
            for (int64_t d = 0; d < width_; ++d)
              reads[t][h * width_ + d] +=
                  scale * weights[m] / total * at(name + "slot_values")[slot(m, d)];
        }
    return linear(reads, name + "output");
  }

  MemoryMosaicConfig config_;
  bool nano_ = false;
};

MemoryMosaicConfig small_mosaic(Parameterisation parameterisation) {
  return {.vocabulary = 11,
          .window = 12,
          .layers = 2,
          .heads = 3,
          .channels = 12,
          .persistent_slots = 5,
          .dropout = 0,
          .parameterisation = parameterisation};
}

TEST(MemoryMosaic, AgreesWithTheFormulasWrittenOut) {
  for (auto parameterisation : {Parameterisation::kPaper, Parameterisation::kNano})
    for (bool bias : {false, true}) {
      auto config = small_mosaic(parameterisation);
      config.bias = bias;
      config.persistent_count = bias ? 2 : 1;
      MemoryMosaic model(config);
      SCOPED_TRACE(bias);
      test::expect_formulas<SlowMosaic>(model, {{3}, {3, 3}, {1, 2, 10, 0, 2, 2, 7, 9, 1}});
    }
}

TEST(MemoryMosaic, TheScaleOfTheKeysIsCappedAsPublished) {
  // log scale 10 * 0.9 = 9: the paper caps it at 5 before squaring, nanoMosaics at ln 65535 after.
  for (auto [parameterisation, context, persistent] :
       {std::tuple{Parameterisation::kPaper, std::exp(5.0), std::exp(10.0)},
        std::tuple{Parameterisation::kNano, std::exp(9.0), 65535.0}}) {
    MemoryMosaic model(small_mosaic(parameterisation));
    at::NoGradGuard no_grad;
    model.block(0)->context->key->log_scale.fill_(0.9);
    model.block(0)->persistent->key->log_scale.fill_(0.9);
    EXPECT_NEAR(model.block(0)->context->key->scale()[0].item<double>() / context, 1, 1e-5);
    EXPECT_NEAR(model.block(0)->persistent->key->scale()[0].item<double>() / persistent, 1, 1e-5);
  }
}

TEST(MemoryMosaic, StartsAsPublished) {
  const MemoryMosaic model(small_mosaic(Parameterisation::kPaper));
  const auto block = model.block(1);
  EXPECT_NEAR(block->context->key->decay()[0].item<double>(), std::exp(-0.5), 1e-6);
  EXPECT_NEAR(block->context->key->decay()[2].item<double>(), std::exp(-5.0), 1e-6);
  EXPECT_NEAR(block->context->key->scale()[1].item<double>(), std::exp(1.0), 1e-5);
  EXPECT_NEAR(block->persistent->key->scale()[1].item<double>(), std::exp(2.0), 1e-5);
  EXPECT_NEAR(block->context->value->scale()[1].item<double>(), std::exp(-0.5), 1e-6);
  EXPECT_NEAR(block->persistent->scale()[1].item<double>(), std::exp(-0.5), 1e-6);
  const at::Tensor mix = block->context->value->mix;
  EXPECT_TRUE(mix.ge(0).logical_and(mix.lt(1)).all().item<bool>());
  EXPECT_FALSE(mix[0].equal(mix[1]));
}

TEST(MemoryMosaic, TheFirstReadOfAContextIsExactlyZero) {
  const MemoryMosaic model(small_mosaic(Parameterisation::kPaper));
  auto context = model.block(0)->context;
  const at::Tensor x = at::randn({2, 5, 12});
  EXPECT_TRUE(context->forward(x).select(1, 0).equal(at::zeros({2, 12})));
  EXPECT_TRUE(context->read(x, {}).first.select(1, 0).equal(at::zeros({2, 12})));
  EXPECT_TRUE(context->forward(x.narrow(1, 0, 1)).equal(at::zeros({2, 1, 12})));
}

MemoryMosaicConfig published(int64_t layers, int64_t vocabulary) {
  return {.vocabulary = vocabulary, .layers = layers};
}

/// The network without its parameters' memory.
MemoryMosaic unallocated(const MemoryMosaicConfig& config) {
  return MemoryMosaic(config, std::nullopt, at::kMeta);
}

TEST(MemoryMosaic, HasThePublishedNumberOfParameters) {
  struct Row {
    int64_t layers, padded, gpt2_vocabulary;
  };
  for (const auto& [layers, padded, gpt2_vocabulary] :
       {Row{1, 45713748, 45677652}, Row{4, 66952272, 66916176}, Row{8, 95270304, 95234208},
        Row{12, 123588336, 123552240}, Row{18, 166065384, 166029288}}) {
    EXPECT_EQ(unallocated(published(layers, 50304)).parameter_count(), padded);
    EXPECT_EQ(unallocated(published(layers, 50257)).parameter_count(), gpt2_vocabulary);
  }
}

TEST(MemoryMosaic, StatesOfUnequalModelsAreNotStacked) {
  const auto state_of = [](auto change) {
    auto config = small_mosaic(Parameterisation::kNano);
    change(config);
    MemoryMosaic model(config);
    return model.read(at::zeros({1, 4}, at::kLong), model.empty_state()).state;
  };
  const SequenceState state = state_of([](auto&) {});
  const SequenceState deeper = state_of([](auto& config) { config.layers = 3; });
  const SequenceState wider = state_of([](auto& config) { config.channels = 24; });
  for (const SequenceState* other : {&deeper, &wider}) {
    EXPECT_THROW(SequenceState::stack({&state, other}), UsageError);
    EXPECT_THROW(SequenceState::stack({other, &state}), UsageError);
  }
}

TEST(MemoryMosaic, RefusesTheStateOfAnotherNumberOfSequences) {
  MemoryMosaic model(small_mosaic(Parameterisation::kNano));
  MosaicBlockState state;
  EXPECT_NO_THROW(model.block(0)->check_state(state, 2));
  for (const int64_t sequences : {0, 1}) {
    state.persistent_leaky_key = at::zeros({sequences, 3, 4});
    EXPECT_THROW(model.block(0)->check_state(state, 2), UsageError);
  }
}

TEST(MemoryMosaic, RefusesImpossibleSizes) {
  const auto refuses = [](auto change, const std::string& field) {
    auto config = small_mosaic(Parameterisation::kPaper);
    change(config);
    EXPECT_THAT(test::message_of<UsageError>([&] { config.check(); }),
                testing::HasSubstr("model." + field));
  };
  refuses([](auto& config) { config.heads = 5; }, "heads");
  refuses([](auto& config) { config.heads = 0; }, "heads");
  refuses([](auto& config) { config.channels = INT64_MAX; }, "channels");
  refuses([](auto& config) { config.vocabulary = -1; }, "vocabulary");
  refuses([](auto& config) { config.layers = int64_t{1} << 40; }, "layers");
  refuses([](auto& config) { config.persistent_slots = -3; }, "persistent_slots");
  refuses([](auto& config) { config.persistent_count = 0; }, "persistent_count");
  refuses(
      [](auto& config) {
        config.persistent_slots = int64_t{1} << 27;
        config.persistent_count = 8;
      },
      "persistent_slots * model.persistent_count");
  refuses([](auto& config) { config.dropout = 1; }, "dropout");
  refuses([](auto& config) { config.dropout = NAN; }, "dropout");
}

}  // namespace
}  // namespace tessera
