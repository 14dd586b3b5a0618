#include "tessera/infer/beam_search.h"

#include <ATen/core/grad_mode.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <functional>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/machine.h"
#include "tests/infer/tiny_models.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

constexpr int64_t kLetters = 5;
constexpr int64_t kEnd = 2;
const Tokens kPrompt = {0, 3, 1};

std::shared_ptr<LanguageModel> model_of_letters() {
  return test::tiny_mosaic(Parameterisation::kPaper, kLetters);
}

/// All texts of at most `longest` tokens that end with kEnd, and all of just `longest`; best first.
std::vector<Hypothesis> every_text(LanguageModel& model, int64_t longest, double exponent) {
  std::vector<Hypothesis> all;
  const std::function<void(const Hypothesis&)> extend = [&](const Hypothesis& from) {
    Tokens text = kPrompt;
    text.insert(text.end(), from.tokens.begin(), from.tokens.end());
    const at::Tensor next = test::recomputed(model, text).log_softmax(-1);
    for (int64_t token = 0; token < kLetters; ++token) {
      Hypothesis longer = from;
      longer.tokens.push_back(token);
      longer.log_probability += next[token].item<double>();
      longer.score = longer.log_probability / std::pow(longer.tokens.size(), exponent);
      longer.ended = token == kEnd;
      if (longer.ended || std::ssize(longer.tokens) == longest)
        all.push_back(longer);
      else
        extend(longer);
    }
  };
  extend({});
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.score > b.score; });
  return all;
}

TEST(BeamSearch, AWideBeamFindsTheBestOfAllTexts) {
  const auto model = model_of_letters();
  for (double exponent : {0.0, 0.7, 1.0}) {
    const auto expected = every_text(*model, 4, exponent);
    const BeamOptions options{
        .beams = 4 * 4 * 4 * 4, .max_tokens = 4, .length_penalty = exponent, .end_of_text = kEnd};
    const auto found = beam_search(*model, kPrompt, options);
    ASSERT_EQ(found.size(), 256u);
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i].score, expected[i].score, 1e-4) << i;
    EXPECT_EQ(found[0].tokens, expected[0].tokens);
    EXPECT_EQ(found[0].ended, expected[0].ended);
    EXPECT_NEAR(found[0].log_probability, expected[0].log_probability, 1e-4);
  }
}

TEST(BeamSearch, StopsWhenNothingCanComeToBeatWhatHasEnded) {
  const auto model = model_of_letters();
  at::NoGradGuard no_grad;
  model->named_parameters()["embedding"].mul_(0.1);  // no letter is sure: long texts are improbable
  BeamOptions options{.max_tokens = 100, .length_penalty = 0, .end_of_text = kEnd};
  const auto found = beam_search(*model, kPrompt, options);
  options.max_tokens = 1'000'000;  // would not come back
  const auto unlimited = beam_search(*model, kPrompt, options);
  ASSERT_EQ(unlimited.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(unlimited[i].tokens, found[i].tokens);
    EXPECT_TRUE(unlimited[i].ended);
  }
}

TEST(BeamSearch, OneBeamIsGreedy) {
  const auto model = test::tiny_mosaic();
  const BeamOptions options{.beams = 1, .max_tokens = 2 * test::kWindow};
  const auto found = beam_search(*model, kPrompt, options);
  ASSERT_EQ(found.size(), 1u);
  Tokens text = kPrompt;
  double sum = 0;
  for (int64_t token : found[0].tokens) {
    const at::Tensor next = test::recomputed(*model, text).log_softmax(-1);
    EXPECT_EQ(token, next.argmax().item<int64_t>());
    sum += next.max().item<double>();
    text.push_back(token);
  }
  EXPECT_EQ(found[0].tokens.size(), 2u * test::kWindow);
  EXPECT_FALSE(found[0].ended);
  EXPECT_NEAR(found[0].log_probability, sum, 1e-3);
}

TEST(BeamSearch, ReadsInWindowsWhereLearnedPositionsEnd) {
  const auto model = test::tiny_gpt(Positions::kLearned);
  const BeamOptions options{.beams = 3, .max_tokens = 2 * test::kWindow};
  const auto found = beam_search(*model, kPrompt, options);
  ASSERT_EQ(found.size(), 3u);
  Tokens text = kPrompt;
  double sum = 0;
  for (int64_t token : found[0].tokens) {
    sum += test::recomputed(*model, text, test::kWindow).log_softmax(-1)[token].item<double>();
    text.push_back(token);
  }
  EXPECT_NEAR(found[0].log_probability, sum, 1e-3);
}

TEST(BeamSearch, TheLengthPenaltyIsTheExponentOfTheLength) {
  // Whatever was read, the end has probability 0.4 and one other token 0.6. Texts of n tokens that
  // end: 0.6^(n-1) 0.4; of three that do not: 0.6^3.
  const auto model = test::fixed_logits({std::log(0.6f), -1e4f, std::log(0.4f)});
  const auto best = [&](double penalty) {
    const BeamOptions options{
        .beams = 3, .max_tokens = 3, .length_penalty = penalty, .end_of_text = kEnd};
    return beam_search(*model, {0}, options).front();
  };
  EXPECT_EQ(best(0).tokens, Tokens{kEnd});  // log 0.4 = -0.916 above 3 log 0.6 = -1.532
  EXPECT_NEAR(best(0).score, std::log(0.4), 1e-6);
  EXPECT_EQ(best(1).tokens, (Tokens{0, 0, 0}));  // -0.511 above -0.916
  EXPECT_NEAR(best(1).score, std::log(0.6), 1e-6);
  // Between: -1.532 / 3^0.4 = -0.987, -1.532 / 3^0.5 = -0.885.
  EXPECT_EQ(best(0.4).tokens, Tokens{kEnd});
  EXPECT_EQ(best(0.5).tokens, (Tokens{0, 0, 0}));
  EXPECT_EQ(BeamOptions().length_penalty, 1);
}

TEST(BeamSearch, NoTokensAreNoHypotheses) {
  BeamOptions options;
  options.max_tokens = 0;
  EXPECT_TRUE(beam_search(*test::tiny_mosaic(), kPrompt, options).empty());
}

TEST(BeamSearch, RefusesBadArguments) {
  const auto model = test::tiny_mosaic();
  EXPECT_THROW(beam_search(*model, {}, {}), UsageError);
  const auto refused = [&](auto change) {
    BeamOptions options;
    change(options);
    EXPECT_THROW(beam_search(*model, kPrompt, options), UsageError);
  };
  refused([](auto& options) { options.beams = 0; });
  refused([](auto& options) { options.max_tokens = -1; });
  refused([](auto& options) { options.length_penalty = -1; });
  refused([](auto& options) { options.length_penalty = NAN; });
  refused([](auto& options) { options.reading = Reading::kWindowed, options.bound.pairs = 3; });
  BeamOptions foreign;
  foreign.end_of_text = test::kVocabulary;
  EXPECT_THROW(beam_search(*model, kPrompt, foreign), UsageError);
}

TEST(BeamSearch, MoreBeamsThanTextsAreAllTexts) {
  const auto model = model_of_letters();
  const BeamOptions options{.beams = 1000, .max_tokens = 2, .end_of_text = kEnd};
  EXPECT_EQ(beam_search(*model, kPrompt, options).size(), 1u + 4 * 5);
}

TEST(BeamSearch, ASearchThatNoMachineCanHoldIsRefusedBeforeItStarts) {
  const auto model = model_of_letters();
  const BeamOptions options{.beams = 1'000'000'000, .max_tokens = 1000};
  const auto gigabytes = [](double bytes) { return fmt::format("{:.1f} GB", bytes / 1e9); };
  EXPECT_THAT(test::message_of<UsageError>([&] { beam_search(*model, kPrompt, options); }),
              testing::AllOf(testing::HasSubstr("1000000000 beams of up to 1000 tokens"),
                             testing::HasSubstr(gigabytes(beam_search_bytes(*model, 3, options))),
                             testing::HasSubstr(gigabytes(physical_memory()))));
}

TEST(BeamSearch, ItsMemoryGrowsWithWhatItKeeps) {
  const auto model = test::tiny_mosaic();
  BeamOptions options{.beams = 10, .max_tokens = 100};
  const double all = beam_search_bytes(*model, 3, options);
  // A pair is a key and a value of 8 channels in both blocks: 128 bytes a token and beam.
  EXPECT_GT(all, 10 * 100 * 128);
  EXPECT_LT(all, 10 * 100 * 128 * 6);
  options.beams = 20;
  EXPECT_DOUBLE_EQ(beam_search_bytes(*model, 3, options), 2 * all);
  options.beams = 10;
  options.bound.pairs = 5;
  EXPECT_LT(beam_search_bytes(*model, 3, options), all / 2);
}

/// Gets a signal while it reads the third token of several beginnings.
class SignalledModel : public MemoryMosaic {
 public:
  SignalledModel() : MemoryMosaic(test::tiny_mosaic_config()) {}
  SequenceOutput read(const at::Tensor& tokens, SequenceState&& state,
                      int64_t first_output) override {
    if (tokens.size(0) > 1 && ++steps_ == 3) std::raise(SIGTERM);
    return MemoryMosaic::read(tokens, std::move(state), first_output);
  }

 private:
  int steps_ = 0;
};

TEST(BeamSearch, ASignalEndsItWithWhatThereIs) {
  SignalledModel model;
  const BeamOptions options{.beams = 20, .max_tokens = 500};
  {
    InterruptGuard guard;
    std::raise(SIGTERM);
    EXPECT_TRUE(beam_search(model, kPrompt, options).empty());
  }
  const InterruptGuard guard;
  const auto found = beam_search(model, kPrompt, options);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().tokens.size(), 3u);
}

}  // namespace
}  // namespace tessera
