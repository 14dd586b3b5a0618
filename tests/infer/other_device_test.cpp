// A model on another device writes, scores and explains what it does on the CPU.

#include <gtest/gtest.h>

#include "tessera/infer/beam_search.h"
#include "tessera/infer/evaluation.h"
#include "tessera/infer/generate.h"
#include "tessera/infer/inspection.h"
#include "tessera/infer/scoring.h"
#include "tests/infer/tiny_models.h"
#include "tests/support/other_device.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::kWindow;
using test::some_text;

constexpr double kTolerance = 1e-4;  // other order of the same float sums

std::vector<std::shared_ptr<LanguageModel>> device_models() {
  return {test::tiny_mosaic(), test::tiny_mosaic_v2(), test::tiny_gpt(Positions::kRotary),
          test::tiny_gpt(Positions::kLearned)};
}

/// What `compute` gives with the model on the CPU, and then on the other device.
template <typename Compute>
auto on_both(LanguageModel& model, Compute&& compute) {
  auto here = compute();
  model.to(test::other_device());
  return std::pair(std::move(here), compute());
}

Tokens ids_of(const std::vector<Generation>& generations) {
  Tokens result;
  for (const Generation& generation : generations)
    for (const auto& token : generation.tokens) result.push_back(token.token);
  return result;
}

TEST(OtherDevice, WritesTheSameTexts) {
  for (const auto& model : device_models()) {
    const auto [here, there] = on_both(*model, [&] {
      GenerateOptions options;
      options.max_tokens = 2 * kWindow;
      options.echo = true;
      options.sampling.seed = 3;
      return ids_of(generate(*model, {{some_text(5, 1)}, {some_text(7, 2), 1}}, options));
    });
    EXPECT_EQ(here, there) << model->kind();
  }
}

TEST(OtherDevice, FindsTheSameHypotheses) {
  for (const auto& model : device_models()) {
    const auto [here, there] = on_both(*model, [&] {
      const BeamOptions options{.beams = 3, .max_tokens = 4};
      return beam_search(*model, some_text(5, 1), options).front().tokens;
    });
    EXPECT_EQ(here, there) << model->kind();
  }
}

TEST(OtherDevice, GivesTheSameLosses) {
  for (const auto& model : device_models()) {
    const auto [here, there] = on_both(*model, [&] {
      std::vector<double> losses;
      for (const Reading reading : {Reading::kWindowed, Reading::kStreaming}) {
        EvaluationOptions options;
        options.reading = model->reads_past_window() ? reading : Reading::kWindowed;
        LossByPosition loss;
        evaluate_text(*model, at::tensor(some_text(3 * kWindow, 4), at::kLong), options, loss);
        losses.push_back(loss.mean());
      }
      losses.push_back(*score_texts(*model, {some_text(kWindow, 5)})[0].back().log_probability);
      return losses;
    });
    for (size_t i = 0; i < here.size(); ++i) EXPECT_NEAR(here[i], there[i], kTolerance);
  }
}

TEST(OtherDevice, ExplainsATokenAlike) {
  for (const auto& model : device_models()) {
    const auto [here, there] =
        on_both(*model, [&] { return inspect(*model, some_text(kWindow, 1), kWindow - 2, {}); });
    EXPECT_NEAR(here.logit, there.logit, kTolerance);
    EXPECT_NEAR(there.sum(), there.logit, kTolerance);
  }
  const auto model = test::tiny_mosaic();
  const auto [here, there] = on_both(*model, [&] {
    return SlotReaders::measure(*model, some_text(2 * kWindow, 1), [](int64_t, int64_t) {})
        .of(1, 0, 2)
        .front()
        .weight;
  });
  EXPECT_NEAR(here, there, kTolerance);
}

TEST(OtherDevice, GoesOnWithASessionOfTheCpu) {
  const test::TemporaryFolder folder;
  for (const auto& model : {test::tiny_mosaic(), test::tiny_gpt(Positions::kRotary)}) {
    StreamingSession(*model, Reading::kStreaming).add({some_text(5, 1)});
    StreamingSession session(*model, Reading::kStreaming, {4, Eviction::kLeastUsed});
    session.add({some_text(9, 1), some_text(3, 2)});
    session.save(folder / "session.safetensors");
    const at::Tensor expected = session.step({1, 2});
    model->to(test::other_device());
    auto loaded = StreamingSession::load(*model, folder / "session.safetensors");
    EXPECT_LT(test::largest_difference(loaded.step({1, 2}), expected), kTolerance);
    loaded.select({1});
    loaded.save(folder / "session.safetensors");
  }
}

}  // namespace
}  // namespace tessera
