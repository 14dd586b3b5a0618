#include "tessera/infer/memory_mixture.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tessera/base/error.h"
#include "tessera/infer/evaluation.h"
#include "tessera/infer/generate.h"
#include "tests/infer/tiny_models.h"

namespace tessera {
namespace {

using test::kVocabulary;
using test::kWindow;
using test::recomputed;
using test::some_text;
using test::tensor_of;

constexpr double kLogRatio = 1.5;

/// A memory of one text, by heart: after its beginning it knows the next token.
class OneText final : public TokenMemory {
 public:
  explicit OneText(Tokens text) : text_(std::move(text)) {}

  std::unique_ptr<Reader> reader() const override { return std::make_unique<Place>(text_); }
  std::vector<double> frequencies() const override {
    if (text_.empty()) return {};
    std::vector<double> shares(kVocabulary);
    for (const int64_t token : text_) shares[token] += 1.0 / static_cast<double>(text_.size());
    return shares;
  }

 private:
  class Place final : public Reader {
   public:
    explicit Place(const Tokens& text) : text_(text) {}
    void append(int32_t token) override {
      known_ = known_ && read_ < text_.size() && text_[read_] == token;
      ++read_;
    }
    std::vector<StoredContinuation> continuations(std::span<const double>) override {
      if (!known_ || read_ >= text_.size()) return {};
      return {{4, kLogRatio, {{static_cast<int32_t>(text_[read_]), 1.0}}}};
    }

   private:
    const Tokens& text_;
    size_t read_ = 0;
    bool known_ = true;
  };

  Tokens text_;
};

double mean_loss(LanguageModel& model, const Tokens& text, const EvaluationOptions& options) {
  LossByPosition losses;
  evaluate_text(model, tensor_of(text), options, losses);
  return losses.mean();
}

TEST(MemoryMixture, WeighsAndLearnsByHand) {
  const OneText memory({0, 1, 1});
  MemoryMixture mixture(memory);
  const std::vector<float> logits = {std::log(0.5f), std::log(0.2f), std::log(0.3f)};
  mixture.append(0);
  mixture.predict(logits);
  // Nothing is learned yet: both lengths are equally probable but for the ratio, a_0 = a_4 = 1/2.
  const double q4 = std::exp(kLogRatio) / (1 + std::exp(kLogRatio)), q0 = 1 - q4;
  const double p = 0.5 * 0.2 + q4 * 0.5 + q0 * 0.5 * 2 / 3;
  EXPECT_NEAR(mixture.log_gain(1), std::log(p / 0.2), 1e-6);
  EXPECT_NEAR(mixture.log_gain(2), std::log(0.5), 1e-6);
  std::vector<float> mixed = logits;
  mixture.mix(mixed);
  double sum = 0;
  for (size_t y = 0; y < 3; ++y) {
    EXPECT_NEAR(mixed[y], logits[y] + mixture.log_gain(y), 1e-6);
    sum += std::exp(mixed[y]);
  }
  EXPECT_NEAR(sum, 1, 1e-6);

  mixture.append(1);  // as stored
  const double n4 = q4 * (0.5 + 0.5 * 0.2) / p, h4 = q4 * 0.5 / p;
  const double n0 = q0 * (0.5 * 2 / 3 + 0.5 * 0.2) / p, h0 = q0 * 0.5 * 2 / 3 / p;
  EXPECT_NEAR(n4 + n0, 1, 1e-12);
  mixture.predict(logits);
  const double odds = std::exp(kLogRatio) * (n4 + 0.5) / (n0 + 0.5);
  const double a4 = (h4 + 0.5) / (n4 + 1), a0 = (h0 + 0.5) / (n0 + 1);
  const double weights = (odds * a4 + a0) / (1 + odds);
  EXPECT_NEAR(mixture.log_gain(2), std::log(1 - weights), 1e-6);
}

/// A stored token that the model holds for impossible, by more nats than a probability can have.
TEST(MemoryMixture, AStoredTokenThatTheModelExcludesHasAFiniteLogit) {
  const OneText memory({0, 1, 1});
  MemoryMixture mixture(memory);
  mixture.append(0);
  std::vector<float> logits = {0, -2000, 0};
  mixture.predict(logits);
  const double q4 = std::exp(kLogRatio) / (1 + std::exp(kLogRatio)), q0 = 1 - q4;
  EXPECT_NEAR(mixture.log_gain(1), std::log(q4 * 0.5 + q0 * 0.5 * 2 / 3) + 2000 + std::log(2.0),
              1e-3);
  mixture.mix(logits);
  for (const float logit : logits) EXPECT_TRUE(std::isfinite(logit));
}

TEST(MemoryMixture, WithAnEmptyMemoryAllBitsAreTheModels) {
  const auto model = test::tiny_mosaic();
  const Tokens text = some_text(40, 3);
  const OneText empty({});
  for (const Reading reading : {Reading::kWindowed, Reading::kStreaming})
    EXPECT_EQ(mean_loss(*model, text, {.reading = reading}),
              mean_loss(*model, text, {.reading = reading, .memory = &empty}));
  GenerateOptions options;
  options.max_tokens = 12;
  const auto alone = generate(*model, {{text}}, options)[0];
  options.memory = &empty;
  const auto beside = generate(*model, {{text}}, options)[0];
  for (size_t i = 0; i < alone.tokens.size(); ++i) {
    EXPECT_EQ(alone.tokens[i].token, beside.tokens[i].token);
    EXPECT_EQ(alone.tokens[i].log_probability, beside.tokens[i].log_probability);
  }
}

TEST(MemoryMixture, LossOfATextIsTheSumOfItsTokensHoweverItIsRead) {
  const auto model = test::tiny_mosaic();
  const Tokens text = some_text(kPieceTokens + 30, 2);
  const Tokens known(text.begin(), text.begin() + 60);
  const OneText memory(known);
  MemoryMixture mixture(memory);
  double sum = 0, alone = 0;
  for (size_t t = 1; t < 40; ++t) {
    mixture.append(text[t - 1]);
    const at::Tensor logits =
        recomputed(*model, Tokens(text.begin(), text.begin() + t)).contiguous();
    mixture.predict({logits.data_ptr<float>(), kVocabulary});
    const double loss = -logits.log_softmax(-1)[text[t]].item<double>();
    alone += loss;
    sum += loss - mixture.log_gain(text[t]);
  }
  const Tokens begun(text.begin(), text.begin() + 40);
  const EvaluationOptions streaming{.reading = Reading::kStreaming, .memory = &memory};
  EXPECT_NEAR(mean_loss(*model, begun, streaming), sum / 39, 1e-5);
  EXPECT_LT(sum, alone);

  // In windows the model sees less, and the memory all.
  for (const int64_t stride : {int64_t{0}, int64_t{3}})
    for (const int64_t batch : {1, 3}) {
      LossByPosition losses;
      evaluate_text(*model, tensor_of(begun), {Reading::kWindowed, stride, batch, &memory}, losses);
      EXPECT_EQ(losses.tokens(), 39);
      EXPECT_LT(losses.mean(), mean_loss(*model, begun, {Reading::kWindowed, stride, batch}));
      if (stride == 0 && batch == 3) {
        EXPECT_EQ(losses.positions(), kWindow);
      }
    }
  // Longer than a piece.
  EXPECT_LT(mean_loss(*model, text, streaming), mean_loss(*model, text, {Reading::kStreaming}));
}

TEST(MemoryMixture, ATextByHeartIsWrittenOn) {
  const auto model = test::tiny_mosaic();
  const Tokens text = some_text(60, 1);
  const OneText memory(text);
  GenerateOptions options;
  options.max_tokens = 30;
  options.sampling.temperature = 0;
  options.memory = &memory;
  const Tokens prompt(text.begin(), text.begin() + 20);
  const auto generations = generate(*model, {{prompt}, {prompt}}, options);
  for (const auto& generation : generations)
    for (size_t i = 0; i < 30; ++i) EXPECT_EQ(generation.tokens[i].token, text[20 + i]) << i;
}

TEST(MemoryMixture, IsNotForSessions) {
  const auto model = test::tiny_mosaic();
  const OneText memory({0});
  StreamingSession session(*model, Reading::kStreaming);
  session.add({{1, 2}});
  GenerateOptions options;
  options.memory = &memory;
  EXPECT_THROW(continue_text(session, options), UsageError);
}

}  // namespace
}  // namespace tessera
