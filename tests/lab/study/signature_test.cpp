// The signature of Tessera's numbers: the losses of tiny models after ten steps. A change that is
// meant to leave the numbers alone leaves these; another one states the new values.

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/random.h"
#include "tessera/text/text_learner.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

/// Sentences drawn from a small vocabulary, always the same.
std::string some_text() {
  constexpr const char* kWords[] = {"the", "sea", "and", "a", "king", "saw", "his", "ship"};
  RandomStream random(3);
  std::string text;
  for (int word = 0; word < 4000; ++word) {
    text += kWords[random.below(8)];
    text += word % 9 == 8 ? ".\n" : " ";
  }
  return text;
}

double loss_after_ten_steps(config::Json model) {
  const test::TemporaryFolder folder;
  write_file(folder / "text.txt", some_text());
  LanguageModelTrainingConfig config;
  model.update({{"layers", 2}, {"heads", 2}, {"channels", 32}, {"window", 32}, {"dropout", 0.1}});
  config.model = model;
  config.data.text = (folder / "text.txt").native();
  config.data.tokenizer = "byte";
  config.train = {.steps = 10, .batch = 4, .learning_rate = 1e-2, .warmup_steps = 2};
  config.sample.tokens = 1;
  const Corpus corpus = prepare_corpus(config.data, folder / "corpus", Start::kNew, nullptr);
  TextLearner learner(config, corpus);
  return train(learner, RunFolder(folder / "run", Start::kNew), nullptr, "").validation_loss();
}

class Signature : public ::testing::Test {
 protected:
  void SetUp() override { at::set_num_threads(1); }
  void TearDown() override { at::set_num_threads(threads_); }

 private:
  int threads_ = at::get_num_threads();
};

// Fused loops differ between instruction sets in the last bits; ten steps keep that below this.
constexpr double kTolerance = 2e-3;

TEST_F(Signature, MemoryMosaicOfThePaper) {
  EXPECT_NEAR(loss_after_ten_steps({{"kind", "memory_mosaic"}, {"parameterisation", "paper"}}),
              4.91203, kTolerance);
}

TEST_F(Signature, MemoryMosaicOfNanoMosaics) {
  EXPECT_NEAR(loss_after_ten_steps({{"kind", "memory_mosaic"}, {"parameterisation", "nano"}}),
              3.42114, kTolerance);
}

TEST_F(Signature, Gpt) {
  EXPECT_NEAR(loss_after_ten_steps({{"kind", "gpt"}}), 3.40700, kTolerance);
}

}  // namespace
}  // namespace tessera
