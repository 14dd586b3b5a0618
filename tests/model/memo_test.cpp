#include "tessera/model/memo.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tests/support/numerical_gradient.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::relative_error;

at::Tensor row(const std::vector<int64_t>& tokens) {
  return at::tensor(tokens, at::kLong).unsqueeze(0);
}

at::Tensor random_tokens(int64_t rows, int64_t length, int64_t vocabulary, uint64_t seed) {
  return at::randint(vocabulary, {rows, length}, at::make_generator<at::CPUGeneratorImpl>(seed),
                     at::kLong);
}

/// Positions, counted from 0: the window [begin, begin + length) and the token after it.
struct Window {
  int64_t begin, length;
  int64_t next() const { return begin + length; }
};

/// X^(k+1) of the tokens [begin, begin + h^k), by the definition.
at::Tensor encoding(const Memo& memo, const at::Tensor& tokens, int64_t begin, int64_t k) {
  if (k == 0) return memo.embeddings()[tokens[0][begin].item<int64_t>()];
  const int64_t h = memo.configuration().heads, d = memo.configuration().dimension;
  int64_t part = 1;
  for (int64_t i = 1; i < k; ++i) part *= h;
  at::Tensor sum = at::zeros({d}), product = at::ones({d});
  for (int64_t slot = 0; slot < h; ++slot) {
    const at::Tensor member = encoding(memo, tokens, begin + slot * part, k - 1);
    if (memo.configuration().encoding == SequenceEncoding::kJlt)
      sum += at::matmul(member, memo.sequence_projection(k)[slot]);
    product *= member;
  }
  return memo.configuration().encoding == SequenceEncoding::kJlt ? sum : product / product.norm();
}

/// I^(k) of the tokens [begin, begin + h^k).
at::Tensor key(const Memo& memo, const at::Tensor& tokens, int64_t begin, int64_t k) {
  const int64_t h = memo.configuration().heads;
  int64_t part = 1;
  for (int64_t i = 1; i < k; ++i) part *= h;
  std::vector<at::Tensor> slots;
  for (int64_t slot = 0; slot < h; ++slot)
    slots.push_back(
        at::matmul(encoding(memo, tokens, begin + slot * part, k - 1), memo.slot_projection(k)));
  return at::cat(slots);
}

/// C^(last) of these windows of one row, one outer product after the other.
at::Tensor memory_of(const Memo& memo, const at::Tensor& tokens,
                     const std::vector<Window>& windows) {
  const int64_t d = memo.configuration().dimension, h = memo.configuration().heads;
  at::Tensor memory = at::zeros({d, d});
  for (const Window& window : windows) {
    int64_t k = 0;
    for (int64_t length = 1; length < window.length; length *= h) ++k;
    memory += at::outer(key(memo, tokens, window.begin, k),
                        memo.embeddings()[tokens[0][window.next()].item<int64_t>()]);
  }
  return memory;
}

// Figure 2 of the paper: h = 2, l = 3 and the tokens 1 to 9.
class FigureTwo : public ::testing::TestWithParam<SequenceEncoding> {
 protected:
  Memo memo_of(MemoWindows windows) const {
    return Memo({.vocabulary = 10,
                 .dimension = 64,
                 .heads = 2,
                 .layers = 3,
                 .encoding = GetParam(),
                 .windows = windows},
                7);
  }
  const at::Tensor text = row({1, 2, 3, 4, 5, 6, 7, 8, 9});
};

TEST_P(FigureTwo, BlocksAreThePapersPairs) {
  Memo memo = memo_of(MemoWindows::kBlocks);
  EXPECT_EQ(memo.memorize(text), 7);
  // (1 2, 3) (3 4, 5) (5 6, 7) (7 8, 9), (12 34, 5) (56 78, 9), (1234 5678, 9)
  const at::Tensor expected =
      memory_of(memo, text, {{0, 2}, {2, 2}, {4, 2}, {6, 2}, {0, 4}, {4, 4}, {0, 8}});
  EXPECT_LT(relative_error(memo.last_memory().matrix(), expected), 1e-5);
}

TEST_P(FigureTwo, EveryPositionHasAWindowOfEachLength) {
  Memo memo = memo_of(MemoWindows::kEveryPosition);
  EXPECT_EQ(memo.memorize(text), 7 + 5 + 1);
  std::vector<Window> windows = {{0, 8}};
  for (int64_t begin = 0; begin <= 6; ++begin) windows.push_back({begin, 2});
  for (int64_t begin = 0; begin <= 4; ++begin) windows.push_back({begin, 4});
  EXPECT_LT(relative_error(memo.last_memory().matrix(), memory_of(memo, text, windows)), 1e-5);
}

TEST_P(FigureTwo, NineIsReadWithWeightThree) {
  Memo memo({.vocabulary = 10, .dimension = 2048, .heads = 2, .layers = 3, .encoding = GetParam()},
            1);
  memo.memorize(text);
  const at::Tensor scores = memo.retrieve(text.narrow(1, 0, 8))[0];
  EXPECT_EQ(scores.argmax().item<int64_t>(), 9);
  EXPECT_NEAR(scores[9].item<float>(), 3, 0.4);
}

INSTANTIATE_TEST_SUITE_P(Memo, FigureTwo,
                         ::testing::Values(SequenceEncoding::kJlt, SequenceEncoding::kProduct),
                         [](const auto& info) { return config::enum_name(info.param); });

// Section 3.1: "in the mathematics or" finds physics by three quarters of "… and".
TEST(Memo, PartialMatchesScoreTheirShareOfTheSlots) {
  for (const SlotProjection projection :
       {SlotProjection::kGaussian, SlotProjection::kOrthonormal}) {
    Memo memo({.vocabulary = 20, .dimension = 4096, .layers = 1, .projection = projection}, 3);
    memo.memorize(row({1, 2, 3, 4, 10}));
    const int64_t others[] = {11, 12, 13, 14};
    for (int64_t equal = 0; equal <= 4; ++equal) {
      at::Tensor context = row({1, 2, 3, 4});
      for (int64_t slot = equal; slot < 4; ++slot) context[0][slot] = others[slot];
      EXPECT_NEAR(memo.retrieve(context)[0][10].item<float>(), equal / 4.0, 0.08) << equal;
    }
  }
}

struct Variant {
  std::string name;
  MemoConfig config;
};

class MemoVariant : public ::testing::TestWithParam<Variant> {};

TEST_P(MemoVariant, RecitesWhatItMemorized) {
  MemoConfig config = GetParam().config;
  config.vocabulary = 500;
  config.dimension = 512;
  Memo memo(config, 5);
  const bool blocks = config.windows == MemoWindows::kBlocks;
  const at::Tensor texts = random_tokens(3, 81, 500, 2);
  memo.memorize(texts);
  int64_t right = 0, asked = 0;
  for (int64_t i = 16; i <= 80; i += blocks ? 16 : 1, ++asked) {
    const at::Tensor answers = memo.retrieve(texts.narrow(1, 0, i)).argmax(1);
    right += (answers == texts.select(1, i)).sum().item<int64_t>();
  }
  EXPECT_GE(right, 0.97 * 3 * static_cast<double>(asked));
}

TEST_P(MemoVariant, ReadingARowIsRetrievingAfterEachOfItsTokens) {
  Memo memo(GetParam().config, 5);
  const int64_t vocabulary = memo.configuration().vocabulary;
  memo.memorize(random_tokens(2, 40, vocabulary, 3));
  const at::Tensor text = random_tokens(2, 21, vocabulary, 3);
  const at::Tensor scores = memo.emit(memo.read(text));
  ASSERT_EQ(scores.sizes(), at::IntArrayRef({2, 21, vocabulary}));
  for (int64_t i = 0; i < 21; ++i)
    EXPECT_LT(relative_error(scores.select(1, i), memo.retrieve(text.narrow(1, 0, i + 1))), 1e-4);
}

TEST_P(MemoVariant, ABatchIsItsRows) {
  const at::Tensor texts = random_tokens(3, 40, GetParam().config.vocabulary, 4);
  Memo together(GetParam().config, 5), apart(GetParam().config, 5);
  const int64_t pairs = together.memorize(texts);
  int64_t row_pairs = 0;
  for (int64_t i = 0; i < 3; ++i) row_pairs += apart.memorize(texts.narrow(0, i, 1));
  EXPECT_EQ(pairs, row_pairs);
  EXPECT_LT(relative_error(together.last_memory().matrix(), apart.last_memory().matrix()), 1e-5);
}

TEST_P(MemoVariant, ForgettingLeavesTheLastMemoryAsItWas) {
  Memo memo(GetParam().config, 5);
  const int64_t vocabulary = memo.configuration().vocabulary;
  const at::Tensor kept = random_tokens(2, 40, vocabulary, 6),
                   gone = random_tokens(2, 40, vocabulary, 7);
  memo.memorize(kept);
  const at::Tensor before = memo.last_memory().matrix().clone();
  const int64_t pairs = memo.memorize(gone);
  const bool has_intermediate = memo.configuration().alpha < 1;
  const at::Tensor encodings =
      has_intermediate ? memo.intermediate_memory(1).matrix().clone() : at::Tensor();
  EXPECT_EQ(memo.forget(gone), pairs);
  const at::Tensor residual = memo.last_memory().matrix() - before;
  EXPECT_LT((residual.norm() / before.norm()).item<float>(), 1e-6);
  if (has_intermediate) {
    EXPECT_TRUE(at::equal(memo.intermediate_memory(1).matrix(), encodings));
  }
}

const MemoConfig kSmall = {.vocabulary = 50, .dimension = 64, .heads = 4, .layers = 2};

std::vector<Variant> variants() {
  Variant product{"product", kSmall}, jlt{"jlt", kSmall}, blocks{"blocks", kSmall},
      orthonormal{"orthonormal", kSmall}, retrieved{"retrieved", kSmall}, mixed{"mixed", kSmall};
  jlt.config.encoding = SequenceEncoding::kJlt;
  blocks.config.windows = MemoWindows::kBlocks;
  orthonormal.config.projection = SlotProjection::kOrthonormal;
  retrieved.config.alpha = 0;
  retrieved.config.windows = MemoWindows::kBlocks;
  retrieved.config.encoding = SequenceEncoding::kJlt;
  mixed.config.alpha = 0.5;
  mixed.config.penalties = false;
  return {product, jlt, blocks, orthonormal, retrieved, mixed};
}

INSTANTIATE_TEST_SUITE_P(Memo, MemoVariant, ::testing::ValuesIn(variants()),
                         [](const auto& info) { return info.param.name; });

Memo paper_memo(bool penalties) {
  return Memo({.vocabulary = 100,
               .dimension = 2048,
               .heads = 2,
               .layers = 2,
               .encoding = SequenceEncoding::kJlt,
               .windows = MemoWindows::kBlocks,
               .alpha = 0,
               .penalties = penalties},
              9);
}

TEST(Memo, PenaltiesStoreAnEncodingOnce) {
  const at::Tensor text = row({1, 2, 3, 4, 1, 2, 5, 6, 7});  // 12 occurs twice
  Memo memo = paper_memo(true);
  memo.memorize(text);
  const at::Tensor once = memo.intermediate_memory(1).matrix().clone();
  at::Tensor expected = at::zeros_like(once);
  for (const int64_t begin : {0, 2, 6})
    expected += at::outer(key(memo, text, begin, 1), encoding(memo, text, begin, 1));
  EXPECT_LT(relative_error(once, expected), 1e-4);
  memo.memorize(text);
  EXPECT_TRUE(at::equal(memo.intermediate_memory(1).matrix(), once));

  Memo counting = paper_memo(false);
  counting.memorize(text);
  expected += at::outer(key(counting, text, 0, 1), encoding(counting, text, 0, 1));
  EXPECT_LT(relative_error(counting.intermediate_memory(1).matrix(), expected), 1e-4);
}

TEST(Memo, CountsTheParametersOfItsMemories) {
  MemoConfig config = kSmall;
  config.layers = 3;
  EXPECT_EQ(Memo(config, 1).parameters(), 64 * 64);
  config.alpha = 0;
  EXPECT_EQ(Memo(config, 1).parameters(), 3 * 64 * 64);
}

TEST(Memo, CodesHaveThePublishedLengths) {
  const Memo memo(
      {.vocabulary = 400, .dimension = 512, .layers = 2, .encoding = SequenceEncoding::kJlt}, 1);
  EXPECT_NEAR(memo.embeddings().norm(2, 1).mean().item<float>(), 1, 0.01);
  const at::Tensor slots = at::matmul(memo.embeddings(), memo.slot_projection(1));  // [V, d / h]
  EXPECT_NEAR(slots.square().sum(1).mean().item<float>(), 0.25, 0.01);
  EXPECT_EQ(memo.sequence_projection(1).sizes(), at::IntArrayRef({4, 512, 512}));
  EXPECT_NEAR(memo.sequence_projection(1).square().mean().item<float>() * 4 * 512, 1, 0.01);
  const Memo orthonormal(
      {.vocabulary = 2, .dimension = 64, .layers = 1, .projection = SlotProjection::kOrthonormal},
      1);
  const at::Tensor w = orthonormal.slot_projection(1);  // [64, 16]
  EXPECT_LT(relative_error(at::matmul(w.t(), w), at::eye(16)), 1e-5);
}

TEST(Memo, ShortRowsWriteNothing) {
  Memo memo(kSmall, 1);
  for (const int64_t length : {0, 1, 4})
    EXPECT_EQ(memo.memorize(at::zeros({2, length}, at::kLong)), 0);
  EXPECT_EQ(memo.memorize(at::zeros({0, 9}, at::kLong)), 0);
  EXPECT_EQ(memo.last_memory().matrix().abs().sum().item<float>(), 0);
  EXPECT_EQ(memo.memorize(at::zeros({1, 5}, at::kLong)), 1);
  EXPECT_EQ(memo.read(at::zeros({2, 0}, at::kLong)).sizes(), at::IntArrayRef({2, 0, 64}));
}

TEST(Memo, MemoriesGoThroughAFile) {
  MemoConfig config = kSmall;
  config.alpha = 0.5;
  Memo memo(config, 4);
  const at::Tensor text = random_tokens(1, 40, 50, 1);
  memo.memorize(text);
  const test::TemporaryFolder folder;
  save_tensors(folder / "memo.safetensors", memo.memories());
  Memo again(config, 4);
  again.restore(TensorFile::load(folder / "memo.safetensors"));
  EXPECT_TRUE(at::equal(again.retrieve(text), memo.retrieve(text)));
  config.dimension = 32;
  EXPECT_THROW(Memo(config, 4).restore(TensorFile::load(folder / "memo.safetensors")), DataError);
}

TEST(Memo, RefusesAndStaysAsItWas) {
  const auto with = [](auto change) {
    MemoConfig config = kSmall;
    change(config);
    return config;
  };
  EXPECT_EQ(test::message_of<UsageError>([&] { Memo(with([](auto& c) { c.heads = 3; }), 1); }),
            "model.heads is 3, which does not divide model.dimension = 64");
  EXPECT_THROW(Memo(with([](auto& c) { c.layers = 0; }), 1), UsageError);
  EXPECT_THROW(Memo(with([](auto& c) { c.layers = 11; }), 1), UsageError);
  EXPECT_THROW(Memo(with([](auto& c) { c.vocabulary = 0; }), 1), UsageError);
  EXPECT_THROW(Memo(with([](auto& c) { c.alpha = 1.5; }), 1), UsageError);
  Memo memo(kSmall, 1);
  memo.memorize(random_tokens(1, 30, 50, 1));
  const at::Tensor before = memo.last_memory().matrix().clone();
  EXPECT_THROW(memo.memorize(row({1, 2, 3, 4, 50})), UsageError);
  EXPECT_THROW(memo.forget(row({1, 2, 3, 4, -1})), UsageError);
  EXPECT_THROW(memo.memorize(row({1, 2, 3, 4, 5})[0]), UsageError);
  EXPECT_THROW(memo.memorize(at::zeros({1, 5}, at::kInt)), UsageError);
  EXPECT_THROW(memo.retrieve(at::zeros({1, 0}, at::kLong)), UsageError);
  EXPECT_TRUE(at::equal(memo.last_memory().matrix(), before));
}

}  // namespace
}  // namespace tessera
