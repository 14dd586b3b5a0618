#include "tessera/infer/inspection.h"

#include <ATen/core/grad_mode.h>

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "tessera/base/error.h"
#include "tessera/checkpoint/model_directory.h"
#include "tests/infer/tiny_models.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::kVocabulary;
using test::kWindow;
using test::some_text;

std::vector<std::shared_ptr<LanguageModel>> models() {
  return {test::tiny_mosaic(),
          test::tiny_mosaic(Parameterisation::kNano),
          test::tiny_mosaic_v2(),
          test::tiny_gpt(Positions::kLearned),
          test::tiny_gpt(Positions::kRotary),
          test::tiny_gpt(Positions::kAlibi)};
}

TEST(Inspection, ThePartsAddUpToTheLogit) {
  const Tokens text = some_text(kWindow, 1);
  for (const auto& model : models())
    for (int64_t position = 0; position < kWindow; ++position) {
      const Inspection result = inspect(*model, text, position);
      EXPECT_NEAR(result.sum(), result.logit, 1e-5) << model->kind() << ", position " << position;
      EXPECT_GT(std::abs(result.logit - result.embedding), 1e-4);
    }
}

TEST(Inspection, ThePartsOfAModelOfFewerBitsAddUpToo) {
  const test::TemporaryFolder folder;
  for (const auto& model : models()) {
    save_model(folder.path(), *model);
    for (const auto type : {ops::WeightType::kBFloat16, ops::WeightType::kInt8}) {
      const auto rounded = load_to_read(folder.path(), type);
      const Inspection result = inspect(*rounded, some_text(kWindow, 1), kWindow - 1);
      EXPECT_NEAR(result.sum(), result.logit, 0.1) << model->kind();  // products are rounded, too
      const at::NoGradGuard no_grad;
      const at::Tensor text = at::tensor(some_text(kWindow, 1), at::kLong).unsqueeze(0);
      const at::Tensor last = rounded->hidden(text).select(1, kWindow - 1);
      EXPECT_EQ(result.logit, rounded->logits(last)[0][result.token].item<double>())
          << model->kind() << ": as it writes";
    }
  }
}

TEST(Inspection, BiasesCountToo) {
  MemoryMosaicConfig config = test::tiny_mosaic_config();
  config.bias = true;
  MemoryMosaic model(config);
  at::NoGradGuard no_grad;
  for (auto& named : model.named_parameters())
    if (named.key().ends_with("bias")) named.value().normal_();
  const Inspection result = inspect(model, some_text(6, 1), 5);
  EXPECT_NEAR(result.sum(), result.logit, 1e-4);
  EXPECT_GT(std::abs(result.biases), 1e-3);
}

TEST(Inspection, TheSlotsOfAPersistentMemoryAddUpToWhatItAdded) {
  MemoryMosaicConfig config = test::tiny_mosaic_config();
  config.persistent_slots = 5;
  config.persistent_count = 3;
  MemoryMosaic model(config);
  const Inspection result = inspect(model, some_text(6, 1), 5, {.memories = 1000});
  for (const BlockInspection& block : result.blocks) {
    ASSERT_EQ(block.slots->size(), 2u * 5 * 3);
    double logit = 0, weight = 0;
    for (size_t rank = 0; rank < block.slots->size(); ++rank) {
      logit += (*block.slots)[rank].logit;
      weight += (*block.slots)[rank].weight;
      if (rank > 0) {
        EXPECT_LE(std::abs((*block.slots)[rank].logit), std::abs((*block.slots)[rank - 1].logit));
      }
    }
    EXPECT_NEAR(logit, block.unit_logit, 1e-6);
    EXPECT_NEAR(weight, 2 * 3, 1e-5);  // each of three memories is read by weights that sum to 1
  }
}

/// The weights of the first block's readings, from its keys, one number at a time.
std::vector<double> weights_of_first_block(MemoryMosaic& model, const Tokens& text, int64_t head) {
  at::NoGradGuard no_grad;
  const at::Tensor x = at::embedding(model.named_parameters()["embedding"],
                                     at::tensor(text, at::kLong).unsqueeze(0));
  MosaicBlock block = model.block(0);
  const at::Tensor keys = block->context->key->forward(block->context_norm->forward(x)).keys[0];
  const int64_t last = std::ssize(text) - 1, D = keys.size(2);
  std::vector<double> weights;
  double sum = 0;
  for (int64_t i = 0; i < last; ++i) {
    double score = 0;
    for (int64_t d = 0; d < D; ++d)
      score += keys[last][head][d].item<double>() * keys[i][head][d].item<double>();
    weights.push_back(std::exp(score));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

TEST(Inspection, WeightsAreThoseOfTheSmoothingKernel) {
  const auto model = std::dynamic_pointer_cast<MemoryMosaic>(test::tiny_mosaic());
  const Tokens text = some_text(7, 3);
  const Inspection result = inspect(*model, text, 6, {.memories = 100});
  for (int64_t head = 0; head < 2; ++head) {
    const std::vector<double> expected = weights_of_first_block(*model, text, head);
    const auto& memories = result.blocks[0].heads[head].memories;
    ASSERT_EQ(memories.size(), expected.size());
    double logit = 0;
    for (size_t rank = 0; rank < memories.size(); ++rank) {
      EXPECT_NEAR(memories[rank].weight, expected[memories[rank].position], 1e-5);
      if (rank > 0) {
        EXPECT_LE(memories[rank].weight, memories[rank - 1].weight);
      }
      logit += memories[rank].logit;
    }
    EXPECT_NEAR(logit, result.blocks[0].heads[head].logit, 1e-9);
  }
}

/// Of two heads a tier: the short-term memory has the last three pairs, the long-term memory those
/// before the last one.
TEST(Inspection, NamesTheTierOfEachHead) {
  const Inspection result = inspect(*test::tiny_mosaic_v2(), some_text(7, 3), 6, {.memories = 100});
  for (const BlockInspection& block : result.blocks) {
    ASSERT_EQ(block.heads.size(), 4u);
    for (size_t head = 0; head < 4; ++head) {
      const bool recent = head < 2;
      EXPECT_EQ(block.heads[head].tier, recent ? MemoryTier::kShortTerm : MemoryTier::kLongTerm);
      std::set<int64_t> positions;
      for (const MemoryShare& share : block.heads[head].memories) positions.insert(share.position);
      EXPECT_EQ(positions,
                recent ? std::set<int64_t>({3, 4, 5}) : std::set<int64_t>({0, 1, 2, 3, 4}));
    }
  }
}

/// With one pair stored, each head's reading is that pair's value.
TEST(Inspection, TheSecondTokenReadsTheOnlyPairThereIs) {
  const Inspection result = inspect(*test::tiny_mosaic(), {3, 5}, 1);
  for (const BlockInspection& block : result.blocks)
    for (const HeadInspection& head : block.heads) {
      ASSERT_EQ(head.memories.size(), 1u);
      EXPECT_EQ(head.memories[0].position, 0);
      EXPECT_NEAR(head.memories[0].weight, 1, 1e-6);
      EXPECT_NEAR(head.memories[0].logit, head.logit, 1e-9);
    }
}

TEST(Inspection, TheFirstTokenHasNoMemoryToRead) {
  const Inspection result = inspect(*test::tiny_mosaic(), {3}, 0);
  for (const BlockInspection& block : result.blocks)
    for (const HeadInspection& head : block.heads) {
      EXPECT_TRUE(head.memories.empty());
      EXPECT_EQ(head.logit, 0);
    }
}

TEST(Inspection, ExplainsTheNextTokenOrTheMostProbableOrTheOneAskedFor) {
  const auto model = test::tiny_mosaic();
  const Tokens text = some_text(6, 1);
  EXPECT_EQ(inspect(*model, text, 3).token, text[4]);
  const Inspection last = inspect(*model, text, 5);
  EXPECT_EQ(last.token, last.alternatives.front().token);
  EXPECT_EQ(last.log_probability, last.alternatives.front().log_probability);
  EXPECT_EQ(inspect(*model, text, 3, {.token = 11}).token, 11);
}

TEST(Inspection, PastTheWindowOfLearnedPositionsTheLastTokensAreRead) {
  const auto model = test::tiny_gpt(Positions::kLearned);
  const Tokens text = some_text(2 * kWindow, 1);
  const int64_t position = 2 * kWindow - 2;
  const Inspection result = inspect(*model, text, position, {.memories = 100});
  const Tokens window(text.begin() + position + 1 - kWindow, text.begin() + position + 1);
  const Inspection alone =
      inspect(*model, window, kWindow - 1, {.memories = 100, .token = result.token});
  EXPECT_EQ(result.logit, alone.logit);
  const auto& memories = result.blocks[0].heads[0].memories;
  ASSERT_EQ(memories.size(), static_cast<size_t>(kWindow));
  for (size_t rank = 0; rank < memories.size(); ++rank)
    EXPECT_EQ(memories[rank].position,
              alone.blocks[0].heads[0].memories[rank].position + position + 1 - kWindow);
}

TEST(Inspection, RefusesWhatItCannotExplain) {
  const auto model = test::tiny_mosaic();
  EXPECT_THROW(inspect(*model, {3, 5}, 2), UsageError);
  EXPECT_THROW(inspect(*model, {3, 5}, -1), UsageError);
  EXPECT_THROW(inspect(*model, {}, 0), UsageError);
  EXPECT_THROW(inspect(*model, {3, 5}, 0, {.token = kVocabulary}), UsageError);
  EXPECT_THROW(inspect(*model, {3, 5}, 0, {.memories = -1}), UsageError);
  EXPECT_THROW(inspect(*model, {3, 5}, 0, {.alternatives = -1}), UsageError);
  EXPECT_THROW(inspect(*model, {3, kVocabulary}, 1), UsageError);
  EXPECT_THROW(inspect(*model, {3, kVocabulary}, 0), UsageError);  // it is only predicted
}

TEST(Inspection, AsJsonNamesTokensAndTheUnitBehindTheHeads) {
  using Json = nlohmann::ordered_json;
  const Tokenizer bytes = Tokenizer::bytes(EndOfText::kAbsent);
  Inspection inspection;
  inspection.position = 2;
  inspection.token = 'b';
  inspection.logit = 1.5;
  inspection.log_probability = -0.5;
  inspection.embedding = 0.25;
  inspection.blocks = {{.heads = {{.logit = 2, .memories = {{0, 0.75, 1.25}}}},
                        .unit_logit = -0.75,
                        .slots = std::vector<SlotShare>{{1, 27, 0.5, -0.625}}},
                       {.heads = {{.tier = MemoryTier::kLongTerm, .logit = 1, .memories = {}}},
                        .unit = BlockUnit::kFeedForward,
                        .unit_logit = 0}};
  inspection.alternatives = {{0xE2, -1}};
  EXPECT_EQ(json_of(inspection, bytes), Json::parse(R"({
    "position": 2, "token": {"id": 98, "text": "b"}, "logit": 1.5, "log_probability": -0.5,
    "embedding": 0.25, "biases": 0.0,
    "layers": [{"heads": [{"logit": 2.0, "memories": [{"position": 0, "weight": 0.75, "logit": 1.25}]}],
                "persistent_memory": -0.75,
                "slots": [{"head": 1, "slot": 27, "weight": 0.5, "logit": -0.625}]},
               {"heads": [{"tier": "long_term", "logit": 1.0, "memories": []}],
                "feed_forward": 0.0}],
    "alternatives": [{"id": 226, "text": "bytes:\\xe2", "log_probability": -1.0}]})"));
  EXPECT_EQ(json_of(Tokens{'a'}, bytes), Json::parse(R"([{"id": 97, "text": "a"}])"));
  EXPECT_EQ(inspect(*test::tiny_mosaic(), {3, 5}, 1).blocks[0].unit, BlockUnit::kPersistentMemory);
  EXPECT_EQ(inspect(*test::tiny_gpt(Positions::kRotary), {3, 5}, 1).blocks[0].unit,
            BlockUnit::kFeedForward);
}

}  // namespace
}  // namespace tessera
