#include "tessera/memory/text_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/memory/next_token.h"
#include "tessera/memory/text_reader.h"

namespace tessera {
namespace {

std::vector<int32_t> random_text(uint64_t seed, int64_t length, int64_t vocabulary) {
  RandomStream random(seed);
  std::vector<int32_t> text(static_cast<size_t>(length));
  for (auto& token : text)
    token = static_cast<int32_t>(random.below(static_cast<uint64_t>(vocabulary)));
  return text;
}

/// The document in pieces of `size` tokens.
TextMemory::Pieces pieces(std::span<const int32_t> text, size_t size = 1000) {
  return [text, size]() mutable {
    const auto piece = text.first(std::min(size, text.size()));
    text = text.subspan(piece.size());
    return piece;
  };
}

std::vector<std::byte> bytes_of(const TextMemory& memory) {
  return {memory.matrix().bytes().begin(), memory.matrix().bytes().end()};
}

class TextMemoryTest : public testing::TestWithParam<WindowCodeKind> {
 protected:
  TextMemoryConfig config(int64_t dimension = 128, int64_t vocabulary = 300) const {
    return {.code = GetParam(),
            .dimension = dimension,
            .heads = 2,
            .layers = 3,
            .vocabulary = vocabulary,
            .seed = 7};
  }
};

INSTANTIATE_TEST_SUITE_P(Codes, TextMemoryTest,
                         testing::Values(WindowCodeKind::kBound, WindowCodeKind::kPaper),
                         [](const auto& info) {
                           return std::string(
                               enum_names(info.param)[static_cast<size_t>(info.param)]);
                         });

TEST_P(TextMemoryTest, CountsItsPairs) {
  const std::vector<int32_t> text = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  TextMemory memory(config());
  EXPECT_EQ(memory.memorize(pieces(text)), 13);
  EXPECT_EQ(memory.pairs(), 13);
  EXPECT_EQ(memory.forget(pieces(text)), 13);
  EXPECT_EQ(memory.pairs(), 0);
  EXPECT_EQ(bytes_of(memory), bytes_of(TextMemory(config())));
}

TEST_P(TextMemoryTest, DocumentsWithoutAWindowChangeNothing) {
  TextMemory memory(config());
  for (const std::vector<int32_t>& text : {std::vector<int32_t>{}, {1}, {1, 2}})
    EXPECT_EQ(memory.memorize(pieces(text)), 0);
  EXPECT_EQ(bytes_of(memory), bytes_of(TextMemory(config())));
  EXPECT_EQ(memory.noise(), 0);
  TextReader reader(memory);
  EXPECT_EQ(reader.scores().windows(), 0);
  reader.append(1);
  EXPECT_EQ(reader.scores().windows(), 0);
  reader.append(2);
  EXPECT_EQ(reader.scores().windows(), 1);
}

TEST_P(TextMemoryTest, HoldsTheSameWhateverThePathToIt) {
  const auto a = random_text(1, 90, 300), b = random_text(2, 2500, 300),
             c = random_text(3, 40, 300);
  TextMemory straight(config()), winding(config()), part(config());
  straight.memorize(pieces(a));
  straight.memorize(pieces(c));
  winding.memorize(pieces(b, 999));
  winding.memorize(pieces(c, 1));
  part.memorize(pieces(a, 7));
  winding.merge(part);
  EXPECT_NE(bytes_of(straight), bytes_of(winding));
  winding.forget(pieces(b, 64));
  EXPECT_EQ(bytes_of(straight), bytes_of(winding));
  EXPECT_EQ(straight.pairs(), winding.pairs());
}

TEST_P(TextMemoryTest, RecallsWhatItStored) {
  const auto text = random_text(4, 60, 300);
  TextMemory memory(config(512));
  memory.memorize(pieces(text));
  TextReader reader(memory);
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    reader.append(text[i]);
    if (i + 1 < 2) continue;
    const NextToken next = by_score(reader.scores(), memory.noise());
    EXPECT_EQ(next.token, text[i + 1]) << i;
    EXPECT_TRUE(next.recalled) << i;
  }
}

TEST_P(TextMemoryTest, ReadingManyContextsIsReadingEach) {
  const auto text = random_text(5, 200, 300);
  TextMemory memory(config());
  memory.memorize(pieces(text));
  TextReader reader(memory);
  std::vector<std::span<const int32_t>> contexts = {std::span(text).first(0)};
  std::vector<WindowScores> streamed = {reader.scores()};
  for (size_t i = 0; i < 50; ++i) {
    reader.append(text[i]);
    streamed.push_back(reader.scores());
    contexts.push_back(std::span(text).first(i + 1));
  }
  const auto at_once = read_contexts(memory, contexts);
  ASSERT_EQ(at_once.size(), streamed.size());
  for (size_t i = 0; i < streamed.size(); ++i) {
    ASSERT_EQ(at_once[i].windows(), streamed[i].windows());
    for (int64_t k = 0; k < streamed[i].windows(); ++k)
      EXPECT_TRUE(std::ranges::equal(at_once[i].window(k), streamed[i].window(k))) << i << " " << k;
  }
}

TEST_P(TextMemoryTest, WritesOnceADocumentAndAgainInTheNext) {
  std::vector<int32_t> text = {1, 2, 3, 1, 2, 3, 1, 2, 3};
  TextMemory memory(config(512));
  const int64_t written = memory.memorize(pieces(text));
  TextReader reader(memory);
  for (const int32_t token : {3, 1, 2}) reader.append(token);
  EXPECT_NEAR(reader.scores().window(0)[3], 1, 0.3);
  EXPECT_EQ(memory.memorize(pieces(text)), written);
  EXPECT_NEAR(reader.scores().window(0)[3], 2, 0.6);
}

// What a token writes depends on the tokens before it alone: a longer document adds pairs to those
// of its beginning.
TEST_P(TextMemoryTest, TheFutureOfADocumentLeavesItsPastAsItWas) {
  auto text = random_text(6, 60, 20);
  TextMemory whole(config()), other_end(config());
  whole.memorize(pieces(text));
  auto changed = text;
  for (size_t i = 40; i < changed.size(); ++i) changed[i] = 299 - changed[i];
  other_end.memorize(pieces(changed));
  // Taking away what only the tails wrote leaves the same beginning.
  TextMemory beginning(config());
  beginning.memorize(pieces(std::span(text).first(40)));
  for (auto [memory, document] : {std::pair(&whole, &text), std::pair(&other_end, &changed)}) {
    TextMemory tail(config());
    tail.memorize(pieces(*document));
    tail.forget(pieces(std::span(text).first(40)));
    EXPECT_EQ(tail.pairs(), memory->pairs() - beginning.pairs());
    tail.merge(beginning);
    EXPECT_EQ(bytes_of(tail), bytes_of(*memory));
  }
}

TEST_P(TextMemoryTest, RefusesAndStaysAsItWas) {
  TextMemory memory(config());
  memory.memorize(pieces(random_text(8, 100, 300)));
  const auto before = bytes_of(memory);
  for (const size_t bad : {0, 500, 2499})
    for (const int32_t token : {-1, 300}) {
      auto text = random_text(9, 2500, 300);
      text[bad] = token;
      EXPECT_THROW(memory.memorize(pieces(text)), std::invalid_argument);
      EXPECT_THROW(memory.forget(pieces(text)), std::invalid_argument);
    }
  const auto text = random_text(9, 2500, 300);
  auto document = pieces(text);
  int calls = 0;
  EXPECT_THROW(memory.memorize([&] {
    if (++calls == 3) throw std::runtime_error("read error");
    return document();
  }),
               std::runtime_error);
  auto other = config();
  other.seed = 8;
  EXPECT_THROW(memory.merge(TextMemory(other)), std::invalid_argument);
  EXPECT_EQ(bytes_of(memory), before);
  TextReader reader(memory);
  EXPECT_THROW(reader.append(300), std::invalid_argument);
  EXPECT_THROW(reader.append(-1), std::invalid_argument);
  EXPECT_EQ(reader.scores().windows(), 0);
  const std::vector<int32_t> outside = {1, 2, 300};
  EXPECT_THROW(read_contexts(memory, std::vector<std::span<const int32_t>>{outside}),
               std::invalid_argument);
}

TEST(TextMemoryConfig, RefusesWhatMakesNoSense) {
  const auto refused = [](auto change) {
    TextMemoryConfig config{.dimension = 128, .heads = 2, .layers = 3, .vocabulary = 10};
    EXPECT_NO_THROW(TextMemory{config});
    change(config);
    EXPECT_THROW(TextMemory{config}, std::invalid_argument);
  };
  refused([](auto& config) { config.dimension = 0; });
  refused([](auto& config) { config.dimension = 100; });
  refused([](auto& config) { config.heads = 1; });
  refused([](auto& config) { config.layers = 0; });
  refused([](auto& config) { config.layers = 21; });
  refused([](auto& config) { config.vocabulary = 0; });
  refused([](auto& config) {
    config.code = WindowCodeKind::kPaper;
    config.heads = 3;
  });
  const TextMemoryConfig config{.dimension = 128, .vocabulary = 10};
  EXPECT_THROW(TextMemory(config, ExactCorrelationMemory(64, 128), 0), std::invalid_argument);
  EXPECT_GT(TextMemory::most_tokens(config), 1000000);
}

}  // namespace
}  // namespace tessera
