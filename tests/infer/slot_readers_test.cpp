#include "tessera/infer/inspection.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/checkpoint/model_directory.h"
#include "tests/infer/tiny_models.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::kVocabulary;
using test::kWindow;
using test::some_text;

/// A token of the text and the weight with which it read one slot.
struct Read {
  int64_t position;
  float weight;
};

/// How each token of the text, read in windows, read a slot; largest weight first.
std::vector<Read> reads_of(MemoryMosaic& model, const Tokens& text, int64_t layer, int64_t head,
                           int64_t slot) {
  std::vector<Read> reads;
  for (int64_t first = 0; first < std::ssize(text); first += kWindow) {
    const int64_t count = std::min<int64_t>(kWindow, std::ssize(text) - first);
    const Tokens window(text.begin() + first, text.begin() + first + count);
    model.visit_slot_weights(
        at::tensor(window, at::kLong).unsqueeze(0),
        [&](int64_t visited, const at::Tensor& weights) {
          if (visited != layer) return;
          for (int64_t t = 0; t < count; ++t)
            reads.push_back({first + t, weights[0][t][head][slot].item<float>()});
        });
  }
  std::ranges::stable_sort(reads, std::greater(), &Read::weight);
  return reads;
}

TEST(SlotReaders, AreTheTokensThatReadTheSlotMost) {
  const auto model = std::dynamic_pointer_cast<MemoryMosaic>(test::tiny_mosaic());
  const Tokens text = some_text(2 * kWindow + 3, 1);
  const SlotReaders readers = SlotReaders::measure(*model, text);
  EXPECT_EQ(readers.slots(), 2 * 2 * 28);  // layers, heads, 3.5 * 8 channels
  for (const int64_t slot : {0, 27}) {
    const std::vector<Read> expected = reads_of(*model, text, 1, 0, slot);
    const std::vector<SlotReader> found = readers.of(1, 0, slot);
    ASSERT_EQ(found.size(), 10u);
    for (size_t rank = 0; rank < found.size(); ++rank) {
      const auto [position, weight] = expected[rank];
      EXPECT_EQ(found[rank].weight, weight);
      EXPECT_EQ(found[rank].token, text[position]);
      const int64_t in_window = position % kWindow;
      ASSERT_EQ(std::ssize(found[rank].before), std::min<int64_t>(in_window, 6));
      if (in_window > 0) {
        EXPECT_EQ(found[rank].before.back(), text[position - 1]);
      }
      const bool last = in_window == kWindow - 1 || position + 1 == std::ssize(text);
      ASSERT_EQ(found[rank].next.has_value(), !last);
      if (!last) {
        EXPECT_EQ(*found[rank].next, text[position + 1]);
      }
    }
  }
}

TEST(SlotReaders, OfAShortTextAreFewer) {
  const auto model = test::tiny_mosaic();
  const auto readers = SlotReaders::measure(*model, {3}).of(0, 0, 0);
  ASSERT_EQ(readers.size(), 1u);
  EXPECT_EQ(readers[0].token, 3);
  EXPECT_TRUE(readers[0].before.empty());
  EXPECT_FALSE(readers[0].next);
}

TEST(SlotReaders, AreKeptBesideTheModelUntilItsWeightsChange) {
  const test::TemporaryFolder folder;
  const auto model = test::tiny_mosaic();
  save_model(folder.path(), *model);
  EXPECT_EQ(SlotReaders::load(folder.path(), *model), nullptr);
  const SlotReaders readers = SlotReaders::measure(*model, some_text(20, 1));
  readers.save(folder.path());
  const auto loaded = SlotReaders::load(folder.path(), *model);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->slots(), readers.slots());
  EXPECT_EQ(loaded->of(1, 1, 5)[3].weight, readers.of(1, 1, 5)[3].weight);
  EXPECT_EQ(loaded->of(1, 1, 5)[3].before, readers.of(1, 1, 5)[3].before);

  write_file(folder / "slots.safetensors", "damaged");
  EXPECT_THROW(SlotReaders::load(folder.path(), *model), DataError);
  readers.save(folder.path());
  save_model(folder.path(), *test::tiny_mosaic(Parameterisation::kNano));
  EXPECT_EQ(SlotReaders::load(folder.path(), *model), nullptr);
}

TEST(SlotReaders, AFileThatDoesNotFitTheModelIsRefused) {
  const test::TemporaryFolder folder;
  const auto model = test::tiny_mosaic();
  save_model(folder.path(), *model);
  const auto larger = test::tiny_mosaic(Parameterisation::kPaper, kVocabulary + 5);
  SlotReaders::measure(*larger, Tokens(20, kVocabulary + 1)).save(folder.path());
  EXPECT_THROW(SlotReaders::load(folder.path(), *model), DataError);
}

TEST(SlotReaders, AFileOfFewerOrMoreLayersThanTheModelIsRefused) {
  const test::TemporaryFolder folder;
  const auto model = test::tiny_mosaic();  // of 2 layers
  save_model(folder.path(), *model);
  for (const int64_t layers : {1, 3}) {
    MemoryMosaicConfig config = test::tiny_mosaic_config();
    config.layers = layers;
    MemoryMosaic other(config);
    SlotReaders::measure(other, some_text(20, 1)).save(folder.path());
    EXPECT_THAT(test::message_of<DataError>([&] { SlotReaders::load(folder.path(), *model); }),
                testing::HasSubstr(fmt::format(
                    "'weights' has shape [{}, 2, 28, 10], expected [2, 2, 28, 10]", layers)));
  }
}

TEST(SlotReaders, RefuseWhatCannotBe) {
  const auto model = test::tiny_mosaic();
  EXPECT_THROW(SlotReaders::measure(*model, {}), UsageError);
  EXPECT_THROW(SlotReaders::measure(*model, {kVocabulary}), UsageError);
  EXPECT_THROW(SlotReaders::measure(*test::tiny_gpt(Positions::kRotary), {3}), UsageError);
  const SlotReaders readers = SlotReaders::measure(*model, {3});
  EXPECT_THROW(readers.of(2, 0, 0), UsageError);
  EXPECT_THROW(readers.of(0, 2, 0), UsageError);
  EXPECT_THROW(readers.of(0, 0, 28), UsageError);
  EXPECT_THROW(readers.of(0, 0, -1), UsageError);
}

TEST(SlotReaders, AsJsonAreThoseOfTheSlotsThatInspectionsName) {
  Inspection inspection;
  inspection.blocks.resize(2);
  inspection.blocks[1].slots = std::vector<SlotShare>{{0, 7, 0.5, 0.25}};
  const auto model = test::tiny_mosaic();
  const SlotReaders readers = SlotReaders::measure(*model, {3, 4});
  const Tokenizer bytes = Tokenizer::bytes(EndOfText::kAbsent);
  const auto json = slot_readers_json(readers, {&inspection, 1}, bytes, 1);
  ASSERT_EQ(json.size(), 1u);
  const SlotReader most = readers.of(1, 0, 7).front();
  ASSERT_EQ(json.at("1.0.7").size(), 1u);
  EXPECT_EQ(json.at("1.0.7")[0].at("weight"), most.weight);
  EXPECT_EQ(json.at("1.0.7")[0].at("token"), std::string(1, static_cast<char>(most.token)));
  EXPECT_EQ(json.at("1.0.7")[0].contains("next"), most.next.has_value());
}

}  // namespace
}  // namespace tessera
