#include "tessera/memo/text_memory.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/memo/text_reader.h"
#include "tests/memo/memory_forms.h"
#include "tests/memo/texts.h"

namespace tessera::memo {
namespace {

using test::pieces_of;
using test::random_tokens;

std::vector<std::byte> bytes_of(const TextMemory& memory) {
  std::vector<std::byte> bytes;
  for (const MemoryShard& shard : memory.shards()) {
    const auto of_shard = shard.matrix().bytes();
    bytes.insert(bytes.end(), of_shard.begin(), of_shard.end());
  }
  return bytes;
}

class TextMemoryTest : public MemoryFormTest {};

INSTANTIATE_TEST_SUITE_P(Forms, TextMemoryTest, testing::ValuesIn(kMemoryForms), name_of_form);

TEST_P(TextMemoryTest, CountsItsPairs) {
  const std::vector<int32_t> text = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  TextMemory memory(config());
  EXPECT_EQ(memory.memorize(pieces_of(text)), 13);
  EXPECT_EQ(memory.pairs(), 13);
  EXPECT_EQ(memory.forget(pieces_of(text)), 13);
  EXPECT_EQ(memory.pairs(), 0);
  EXPECT_EQ(bytes_of(memory), bytes_of(TextMemory(config())));
}

TEST_P(TextMemoryTest, DocumentsWithoutAWindowChangeNothing) {
  TextMemory memory(config());
  for (const std::vector<int32_t>& text : {std::vector<int32_t>{}, {1}, {1, 2}})
    EXPECT_EQ(memory.memorize(pieces_of(text)), 0);
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
  const auto a = random_tokens(1, 90, 300), b = random_tokens(2, 2500, 300),
             c = random_tokens(3, 40, 300);
  TextMemory straight(config()), winding(config()), part(config());
  straight.memorize(pieces_of(a));
  straight.memorize(pieces_of(c));
  winding.memorize(pieces_of(b, 999));
  winding.memorize(pieces_of(c, 1));
  part.memorize(pieces_of(a, 7));
  winding.merge(part);
  EXPECT_NE(bytes_of(straight), bytes_of(winding));
  winding.forget(pieces_of(b, 64));
  EXPECT_EQ(bytes_of(straight), bytes_of(winding));
  EXPECT_EQ(straight.pairs(), winding.pairs());
}

TEST_P(TextMemoryTest, WritesOnceADocumentAndAgainInTheNext) {
  std::vector<int32_t> text = {1, 2, 3, 1, 2, 3, 1, 2, 3};
  TextMemory memory(config(512));
  const int64_t written = memory.memorize(pieces_of(text));
  TextReader reader(memory);
  for (const int32_t token : {3, 1, 2}) reader.append(token);
  EXPECT_NEAR(reader.scores().window(0)[3], 1, 0.3);
  EXPECT_EQ(memory.memorize(pieces_of(text)), written);
  EXPECT_NEAR(reader.scores().window(0)[3], 2, 0.6);
}

// What a token writes depends on the tokens before it alone: a longer document adds pairs to those
// of its beginning.
TEST_P(TextMemoryTest, TheFutureOfADocumentLeavesItsPastAsItWas) {
  auto text = random_tokens(6, 60, 20);
  TextMemory whole(config()), other_end(config());
  whole.memorize(pieces_of(text));
  auto changed = text;
  for (size_t i = 40; i < changed.size(); ++i) changed[i] = 299 - changed[i];
  other_end.memorize(pieces_of(changed));
  // Taking away what only the tails wrote leaves the same beginning.
  TextMemory beginning(config());
  beginning.memorize(pieces_of(std::span(text).first(40)));
  for (auto [memory, document] : {std::pair(&whole, &text), std::pair(&other_end, &changed)}) {
    TextMemory tail(config());
    tail.memorize(pieces_of(*document));
    tail.forget(pieces_of(std::span(text).first(40)));
    EXPECT_EQ(tail.pairs(), memory->pairs() - beginning.pairs());
    tail.merge(beginning);
    EXPECT_EQ(bytes_of(tail), bytes_of(*memory));
  }
}

TEST_P(TextMemoryTest, RefusesAndStaysAsItWas) {
  TextMemory memory(config());
  memory.memorize(pieces_of(random_tokens(8, 100, 300)));
  const auto before = bytes_of(memory);
  for (const size_t bad : {0, 500, 2499})
    for (const int32_t token : {-1, 300}) {
      auto text = random_tokens(9, 2500, 300);
      text[bad] = token;
      EXPECT_THROW(memory.memorize(pieces_of(text)), UsageError);
      EXPECT_THROW(memory.forget(pieces_of(text)), UsageError);
    }
  const auto text = random_tokens(9, 2500, 300);
  auto document = pieces_of(text);
  int calls = 0;
  EXPECT_THROW(memory.memorize([&] {
    if (++calls == 3) throw std::runtime_error("read error");
    return document();
  }),
               std::runtime_error);
  auto other = config();
  other.seed = 8;
  EXPECT_THROW(memory.merge(TextMemory(other)), UsageError);
  EXPECT_EQ(bytes_of(memory), before);
  TextReader reader(memory);
  EXPECT_THROW(reader.append(300), UsageError);
  EXPECT_THROW(reader.append(-1), UsageError);
  EXPECT_EQ(reader.scores().windows(), 0);
  const std::vector<int32_t> outside = {1, 2, 300};
  EXPECT_THROW(read_contexts(memory, std::vector<std::span<const int32_t>>{outside}), UsageError);
}

TEST_P(TextMemoryTest, HoldsAndReadsTheSameOnAnyNumberOfThreads) {
  const auto text = random_tokens(10, 1500, 300);
  const std::vector<std::span<const int32_t>> contexts(20, std::span(text).first(100));
  const int threads = omp_get_max_threads();
  std::vector<std::byte> bytes;
  std::vector<float> scores;
  for (const int count : {1, 2, 3}) {
    omp_set_num_threads(count);
    TextMemory memory(config(256));
    memory.memorize(pieces_of(text));
    const WindowScores last = read_contexts(memory, contexts).back();
    const auto read = last.window(2);
    if (count == 1) {
      bytes = bytes_of(memory);
      scores.assign(read.begin(), read.end());
    }
    EXPECT_EQ(bytes_of(memory), bytes) << count;
    EXPECT_TRUE(std::ranges::equal(read, scores)) << count;
  }
  omp_set_num_threads(threads);
}

TEST(TextMemoryConfig, RefusesWhatMakesNoSense) {
  const auto refused = [](auto change) {
    TextMemoryConfig config{.dimension = 128, .heads = 2, .layers = 3, .vocabulary = 10};
    EXPECT_NO_THROW(TextMemory{config});
    change(config);
    EXPECT_THROW(TextMemory{config}, UsageError);
  };
  refused([](auto& config) { config.dimension = 0; });
  refused([](auto& config) { config.dimension = 100; });
  refused([](auto& config) { config.heads = 1; });
  refused([](auto& config) { config.layers = 0; });
  refused([](auto& config) { config.layers = 21; });
  refused([](auto& config) { config.vocabulary = 0; });
  for (const int32_t shards : {0, -1, 4097, INT32_MAX})
    refused([=](auto& config) { config.shards = shards; });
  refused([](auto& config) {
    config.code = WindowCodeKind::kPaper;
    config.shards = 2;
  });
  refused([](auto& config) {
    config.code = WindowCodeKind::kPaper;
    config.heads = 3;
  });
  refused([](auto& config) {
    config.code = WindowCodeKind::kPaper;
    config.dimension = 256;
    config.heads = 256;
    config.layers = 2;
  });
  const TextMemoryConfig config{.dimension = 128, .vocabulary = 10};
  EXPECT_THROW(TextMemory(config, std::vector<MemoryShard>()), UsageError);
  EXPECT_THROW(TextMemory(config, std::vector<MemoryShard>(2, MemoryShard(128))), UsageError);
  EXPECT_GT(TextMemory::most_tokens(config), 1000000);
}

}  // namespace
}  // namespace tessera::memo
