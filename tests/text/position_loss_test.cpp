#include "tessera/text/text_learner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <numeric>

#include "tessera/base/interrupt.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/model/language_model.h"
#include "tessera/model/model_kind.h"
#include "tests/support/token_stream.h"

namespace tessera {
namespace {

/// A text of 400 tokens below 13, and a network that has learned nothing of it.
struct Untrained {
  static TokenStream text() {
    std::string bytes;
    for (int i = 0; i < 400; ++i) bytes += static_cast<char>(i * i % 13);
    return test::stream_of(bytes, Tokenizer::bytes(EndOfText::kAbsent));
  }

  Corpus corpus{"text", Tokenizer::bytes(EndOfText::kAbsent), text(), text(), 1.0, ""};
  std::shared_ptr<LanguageModel> model = make_language_model(
      "gpt", {{"vocabulary", 13}, {"window", 10}, {"layers", 1}, {"heads", 2}, {"channels", 8}});
};

TEST(PositionLoss, MeasuresAWindowForEveryTenThatWereTrainedOn) {
  const auto windows = [](int64_t steps, int64_t batch, int64_t accumulation) {
    return position_loss_windows({.steps = steps, .batch = batch, .accumulation = accumulation});
  };
  EXPECT_EQ(windows(4, 8, 1), 8);  // the fewest
  EXPECT_EQ(windows(50, 8, 2), 80);
  EXPECT_EQ(windows(80000, 8, 64), 256);  // the most
  EXPECT_EQ(windows(INT64_MAX, 8, 64), 256);
}

TEST(PositionLoss, IsTheMeanOverItsWindows) {
  Untrained untrained;
  untrained.model->eval();
  const PositionLoss one = measure_position_loss(*untrained.model, untrained.corpus, 6, 4, nullptr);
  EXPECT_EQ(one.windows, 6);
  EXPECT_EQ(one.planned, 6);
  ASSERT_EQ(one.nats.size(), 10u);
  const double mean = std::accumulate(one.nats.begin(), one.nats.end(), 0.0) / 10;
  EXPECT_NEAR(mean, std::log(13), 0.2);
  const PositionLoss other =
      measure_position_loss(*untrained.model, untrained.corpus, 6, 1, nullptr);
  for (size_t position = 0; position < 10; ++position)
    EXPECT_NEAR(other.nats[position], one.nats[position], 1e-5);
}

TEST(PositionLoss, ASignalEndsItWithWhatThereIs) {
  Untrained untrained;
  const InterruptGuard guard;
  std::raise(SIGINT);
  const PositionLoss none =
      measure_position_loss(*untrained.model, untrained.corpus, 6, 4, nullptr);
  EXPECT_EQ(none.windows, 0);
  EXPECT_EQ(none.planned, 6);
  EXPECT_TRUE(none.nats.empty());
}

}  // namespace
}  // namespace tessera
