#include "tessera/infer/evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/infer/scoring.h"
#include "tests/infer/tiny_models.h"

namespace tessera {
namespace {

using test::kWindow;
using test::recomputed;
using test::some_text;
using test::tensor_of;

/// Sum of the losses of the tokens 1.. of a text, token t read with the tokens from begins[t] on.
double sum_of_losses(LanguageModel& model, const Tokens& text, const std::vector<size_t>& begins) {
  double sum = 0;
  for (size_t t = 1; t < text.size(); ++t) {
    const Tokens before(text.begin() + begins[t], text.begin() + t);
    sum -= recomputed(model, before).log_softmax(-1)[text[t]].item<double>();
  }
  return sum;
}

/// Where the window of each token begins, slowly: the first window that holds it.
std::vector<size_t> window_begins(size_t tokens, size_t stride) {
  std::vector<size_t> begins(tokens, 0);
  for (size_t t = 1; t < tokens; ++t)
    while (begins[t] + kWindow < t) begins[t] += stride;
  return begins;
}

TEST(LossByPosition, IsTheMeanOverWindows) {
  const auto model = test::tiny_mosaic();
  const std::vector<Tokens> windows = {some_text(7, 1), some_text(7, 2), some_text(4, 3)};
  LossByPosition loss;
  loss.add(*model, padded({windows[0], windows[1]}));
  loss.add(*model, padded({windows[2]}));
  const auto scores = score_texts(*model, windows);
  ASSERT_EQ(loss.positions(), 6);
  double sum = 0;
  for (int64_t position = 0; position < 6; ++position) {
    double expected =
        -*scores[0][position + 1].log_probability - *scores[1][position + 1].log_probability;
    if (position < 3) expected -= *scores[2][position + 1].log_probability;
    EXPECT_NEAR(loss.at(position), expected / (position < 3 ? 3 : 2), 1e-4);
    sum += expected;
  }
  EXPECT_EQ(loss.tokens(), 15);
  EXPECT_NEAR(loss.mean(), sum / 15, 1e-4);
  EXPECT_THROW(loss.at(6), std::out_of_range);
  EXPECT_THROW(loss.add(*model, padded({{1}})), UsageError);
  EXPECT_THROW(loss.add(at::zeros({2, 3}), -1), UsageError);
  EXPECT_THROW(loss.add(at::zeros({3}), 0), UsageError);
  EXPECT_EQ(loss.tokens(), 15);
}

TEST(Evaluation, EachTokenIsPredictedOnceInTheFirstWindowThatHoldsIt) {
  const auto model = test::tiny_mosaic();
  for (size_t length : {2u, 8u, 9u, 10u, 17u, 30u, 41u}) {
    const Tokens text = some_text(length, 1);
    for (int64_t stride : {1, 3, 4, 8})
      for (int64_t batch : {1, 3, 50}) {
        LossByPosition losses;
        std::vector<int64_t> progress;
        evaluate_text(*model, tensor_of(text), {Reading::kWindowed, stride, batch}, losses,
                      [&](int64_t done, int64_t of) {
                        progress.push_back(done);
                        EXPECT_EQ(of, std::ssize(text) - 1);
                      });
        EXPECT_EQ(losses.tokens(), static_cast<int64_t>(length) - 1);
        EXPECT_NEAR(losses.mean() * losses.tokens(),
                    sum_of_losses(*model, text, window_begins(length, stride)), 1e-3)
            << "length " << length << ", stride " << stride << ", batch " << batch;
        EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
        EXPECT_EQ(progress.back(), losses.tokens());
      }
  }
}

TEST(Evaluation, WithoutAStrideWindowsDoNotOverlap) {
  const auto model = test::tiny_gpt(Positions::kLearned);
  const Tokens text = some_text(30, 1);
  LossByPosition losses, other;
  evaluate_text(*model, tensor_of(text), {}, losses);
  evaluate_text(*model, tensor_of(text), {Reading::kWindowed, kWindow, 8}, other);
  EXPECT_EQ(losses.mean(), other.mean());
  EXPECT_EQ(losses.positions(), kWindow);
}

TEST(Evaluation, StreamingPredictsFromEverythingBefore) {
  const auto model = test::tiny_mosaic();
  const Tokens text = some_text(kPieceTokens + 40, 2);
  LossByPosition losses;
  int64_t done = 0;
  evaluate_text(*model, tensor_of(text), {.reading = Reading::kStreaming}, losses,
                [&](int64_t predicted, int64_t) { done = predicted; });
  const auto scores = score_texts(*model, {text})[0];
  ASSERT_EQ(losses.positions(), std::ssize(text) - 1);
  EXPECT_EQ(done, losses.tokens());
  for (int64_t position = 0; position < losses.positions(); ++position)
    EXPECT_NEAR(losses.at(position), -*scores[position + 1].log_probability, 1e-4) << position;
}

TEST(Evaluation, TakingTurnsGivesTheSameTotals) {
  const auto model = test::tiny_mosaic();
  for (const Reading reading : {Reading::kWindowed, Reading::kStreaming}) {
    LossByPosition whole;
    at::Tensor totals = at::zeros({2, 0}, at::kDouble);
    for (int64_t turn = -1; turn < 3; ++turn) {
      EvaluationOptions options{.reading = reading, .batch = 2};
      if (turn >= 0) {
        options.takes_next = [turn, next = int64_t{0}]() mutable { return next++ % 3 == turn; };
      }
      LossByPosition part;
      for (const size_t length : {90, 2, 30, 51})
        evaluate_text(*model, tensor_of(some_text(length, 1)), options, turn < 0 ? whole : part);
      const int64_t positions = std::max(totals.size(1), part.positions());
      const at::Tensor sum = at::constant_pad_nd(totals, {0, positions - totals.size(1)}) +
                             at::constant_pad_nd(part.totals(), {0, positions - part.positions()});
      if (turn >= 0) {
        EXPECT_LT(part.tokens(), whole.tokens());
      }
      totals = sum;
    }
    const LossByPosition together(totals);
    EXPECT_EQ(together.tokens(), whole.tokens());
    EXPECT_NEAR(together.mean(), whole.mean(), 1e-12);
    ASSERT_EQ(together.positions(), whole.positions());
    for (int64_t position = 0; position < whole.positions(); ++position)
      EXPECT_NEAR(together.at(position), whole.at(position), 1e-12) << position;
  }
  EXPECT_THROW(LossByPosition(at::zeros({3, 4})), UsageError);
}

TEST(Evaluation, TextsOfOneTokenPredictNothing) {
  const auto model = test::tiny_mosaic();
  for (Reading reading : {Reading::kWindowed, Reading::kStreaming})
    for (const Tokens& text : {Tokens{}, Tokens{3}}) {
      LossByPosition losses;
      evaluate_text(*model, tensor_of(text), {.reading = reading}, losses);
      EXPECT_EQ(losses.tokens(), 0);
    }
}

TEST(Evaluation, ASignalEndsIt) {
  const auto model = test::tiny_mosaic();
  {
    InterruptGuard guard;
    std::raise(SIGINT);
    LossByPosition losses;
    EXPECT_THROW(evaluate_text(*model, tensor_of(some_text(200, 1)), {}, losses), Interrupted);
    EXPECT_THROW(evaluate_text(*model, tensor_of(some_text(2 * kPieceTokens, 1)),
                               {.reading = Reading::kStreaming}, losses),
                 Interrupted);
  }
}

TEST(Evaluation, RefusesBadOptions) {
  const auto refused = [](LanguageModel& model, const EvaluationOptions& options) {
    LossByPosition losses;
    EXPECT_THROW(evaluate_text(model, tensor_of(some_text(30, 1)), options, losses), UsageError);
    EXPECT_EQ(losses.tokens(), 0);
  };
  const auto mosaic = test::tiny_mosaic();
  refused(*mosaic, {.stride = -1});
  refused(*mosaic, {.stride = kWindow + 1});
  refused(*mosaic, {.batch = 0});
  refused(*mosaic, {.reading = Reading::kStreaming, .stride = 3});
  refused(*test::tiny_gpt(Positions::kLearned), {.reading = Reading::kStreaming});
  LossByPosition losses;
  EXPECT_THROW(evaluate_text(*mosaic, padded({some_text(30, 1)}), {}, losses), UsageError);
}

TEST(Evaluation, RefusesTokensOutsideTheVocabulary) {
  const auto model = test::tiny_mosaic();
  for (const Reading reading : {Reading::kWindowed, Reading::kStreaming})
    for (const int64_t token : {int64_t{-100}, model->vocabulary()}) {
      Tokens text = some_text(30, 1);
      text.back() = token;  // it is only predicted
      LossByPosition losses;
      EXPECT_THROW(evaluate_text(*model, tensor_of(text), {.reading = reading}, losses), UsageError)
          << token;
      EXPECT_EQ(losses.tokens(), 0);
    }
}

}  // namespace
}  // namespace tessera
