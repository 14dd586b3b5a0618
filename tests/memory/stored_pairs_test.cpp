#include "tessera/memory/stored_pairs.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <limits>

#include "tessera/base/error.h"
#include "tessera/ops/weights.h"

namespace tessera {
namespace {

/// Each bound with pairs in each type of numbers.
std::vector<PairOptions> in_every_type(const std::vector<MemoryBound>& bounds) {
  std::vector<PairOptions> all;
  for (const MemoryBound& bound : bounds)
    for (const auto type :
         {ops::WeightType::kFloat32, ops::WeightType::kBFloat16, ops::WeightType::kInt8})
      all.push_back({bound, type});
  return all;
}

at::Tensor pair_of(int64_t batch, double value) {
  return at::full({batch, 1, 1}, value);
}

std::vector<float> keys_of(const StoredPairs& pairs, int64_t row) {
  const at::Tensor keys = pairs.keys(row).flatten().contiguous();
  return {keys.data_ptr<float>(), keys.data_ptr<float>() + keys.numel()};
}

/// The tensors of a file of the pairs, as they are now.
TensorFile file_of(const StoredPairs& pairs) {
  TensorFile file{"file", {}, {}};
  for (const auto& [name, tensor] : pairs.tensors("")) file.tensors[name] = tensor.clone();
  return file;
}

TEST(StoredPairs, AnEmptyMemoryReadsZero) {
  StoredPairs pairs;
  const at::Tensor query = at::ones({2, 3, 4});
  EXPECT_TRUE(pairs.retrieve(query).value.equal(at::zeros({2, 3, 4})));
  EXPECT_EQ(pairs.retrieve(query).weights.sizes(), (std::vector<int64_t>{2, 3, 0}));
  pairs.store_sequence(query.unsqueeze(1).narrow(1, 0, 0), query.unsqueeze(1).narrow(1, 0, 0));
  EXPECT_EQ(pairs.counts(), (std::vector<int64_t>{0, 0}));
  EXPECT_TRUE(pairs.retrieve(query).value.equal(at::zeros({2, 3, 4})));
}

TEST(StoredPairs, OnePairAnswersEveryQueryWithItsValue) {
  StoredPairs pairs;
  const at::Tensor value = at::randn({2, 3, 4});
  pairs.store(at::randn({2, 3, 4}), value);
  EXPECT_TRUE(at::allclose(pairs.retrieve(at::randn({2, 3, 4})).value, value));
}

TEST(StoredPairs, ReadIsTheSoftmaxMeanByHand) {
  StoredPairs pairs;
  pairs.store(pair_of(1, 1.0), pair_of(1, 10.0));
  pairs.store(pair_of(1, 2.0), pair_of(1, 20.0));
  // weights e^1 : e^2 at query 1
  const double expected =
      (10 * std::exp(1.0) + 20 * std::exp(2.0)) / (std::exp(1.0) + std::exp(2.0));
  const auto reading = pairs.retrieve(pair_of(1, 1.0));
  EXPECT_NEAR(reading.value.item<double>(), expected, 1e-5);
  EXPECT_NEAR(reading.weights[0][0][1].item<double>(), 1 / (1 + std::exp(-1.0)), 1e-6);
}

TEST(StoredPairs, GrowsPastItsFirstRoom) {
  StoredPairs one_by_one, at_once;
  const at::Tensor keys = at::randn({2, 200, 3, 4}), values = at::randn({2, 200, 3, 4});
  for (int64_t t = 0; t < 200; ++t) one_by_one.store(keys.select(1, t), values.select(1, t));
  at_once.store_sequence(keys, values);
  EXPECT_TRUE(one_by_one.keys(1).equal(at_once.keys(1)));
  EXPECT_TRUE(one_by_one.values(0).equal(at_once.values(0)));
  EXPECT_EQ(at_once.counts(), (std::vector<int64_t>{200, 200}));
}

TEST(StoredPairs, PairsOfFewerBitsAreRoundedOnce) {
  for (const auto type : {ops::WeightType::kBFloat16, ops::WeightType::kInt8}) {
    const PairOptions options{{}, type};
    StoredPairs one_by_one(options), at_once(options);
    const at::Tensor keys = at::randn({2, 70, 3, 40}), values = at::randn({2, 70, 3, 40});
    for (int64_t t = 0; t < 70; ++t) one_by_one.store(keys.select(1, t), values.select(1, t));
    at_once.store_sequence(keys, values);
    const auto rounded = [&](const at::Tensor& all) {
      return ops::as_floats(ops::stored_as(all[1].transpose(0, 1), type), 40);
    };
    for (const StoredPairs* pairs : {&one_by_one, &at_once}) {
      EXPECT_TRUE(pairs->keys(1).equal(rounded(keys)));
      EXPECT_TRUE(pairs->values(1).equal(rounded(values)));
      EXPECT_TRUE(pairs->select({1}).values(0).equal(rounded(values)));
    }
    EXPECT_LT((at_once.keys(0) - keys[0].transpose(0, 1)).abs().max().item<float>(), 0.03);
    size_t bytes = 0;
    for (const auto& [name, tensor] : at_once.tensors("")) bytes += tensor.nbytes();
    EXPECT_LT(bytes, keys.nbytes() + values.nbytes());
  }
}

TEST(StoredPairs, OldestEvictionKeepsTheLastPairs) {
  for (int64_t bound : {1, 3, 70}) {
    StoredPairs pairs({MemoryBound{bound, Eviction::kOldest}});
    std::deque<float> expected;
    for (int64_t t = 0; t < 150; ++t) {
      pairs.store(pair_of(1, t), pair_of(1, t));
      expected.push_back(t);
      if (std::ssize(expected) > bound) expected.pop_front();
      auto keys = keys_of(pairs, 0);
      std::sort(keys.begin(), keys.end());
      ASSERT_EQ(keys, std::vector<float>(expected.begin(), expected.end())) << bound << " " << t;
    }
  }
}

TEST(StoredPairs, LeastUsedEvictionDropsWhatIsNeverRead) {
  StoredPairs pairs({MemoryBound{3, Eviction::kLeastUsed}});
  for (double key : {5.0, -5.0, 4.0}) pairs.store(pair_of(1, key), pair_of(1, key));
  for (int i = 0; i < 5; ++i) pairs.count_use(pairs.retrieve(pair_of(1, 3.0)).weights);
  pairs.store(pair_of(1, 6.0), pair_of(1, 6.0));
  auto keys = keys_of(pairs, 0);
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(keys, (std::vector<float>{4, 5, 6}));  // -5 got no attention
}

TEST(StoredPairs, LeastUsedIsJudgedPerHead) {
  StoredPairs pairs({MemoryBound{2, Eviction::kLeastUsed}});
  const auto heads = [](double first, double second) {
    return at::tensor({first, second}, at::kFloat).view({1, 2, 1});
  };
  pairs.store(heads(9, -9), heads(9, -9));
  pairs.store(heads(-9, 9), heads(-9, 9));
  pairs.count_use(pairs.retrieve(heads(1, 1)).weights);
  pairs.store(heads(7, 7), heads(7, 7));
  // head 0 read 9 and loses -9; head 1 read 9, which it stored second, and loses its first
  EXPECT_TRUE(pairs.keys(0).equal(at::tensor({9.f, 7.f, 7.f, 9.f}).view({2, 2, 1})));
}

TEST(StoredPairs, ACopyIsAFork) {
  StoredPairs pairs;
  pairs.store(pair_of(1, 1), pair_of(1, 1));
  StoredPairs fork = pairs;
  fork.store(pair_of(1, 2), pair_of(1, 2));
  pairs.store(pair_of(1, 3), pair_of(1, 3));
  EXPECT_EQ(keys_of(pairs, 0), (std::vector<float>{1, 3}));
  EXPECT_EQ(keys_of(fork, 0), (std::vector<float>{1, 2}));
}

TEST(StoredPairs, TwoFromOneFileAreApart) {
  const PairOptions options = {.bound = {2, Eviction::kOldest}};
  StoredPairs pairs(options);
  for (const double value : {1.0, 2.0}) pairs.store(pair_of(1, value), pair_of(1, value));
  const TensorFile file = file_of(pairs);
  StoredPairs one = StoredPairs::from_tensors(file, "", options, 1, 1);
  const StoredPairs other = StoredPairs::from_tensors(file, "", options, 1, 1);
  one.store(pair_of(1, 3), pair_of(1, 3));  // in place of the first
  EXPECT_EQ(keys_of(one, 0), (std::vector<float>{3, 2}));
  EXPECT_EQ(keys_of(other, 0), (std::vector<float>{1, 2}));
}

TEST(StoredPairs, AFileThatLacksThePairsItCountsIsRefused) {
  StoredPairs pairs;
  pairs.store(pair_of(2, 1), pair_of(2, 1));
  TensorFile file = file_of(pairs);
  EXPECT_EQ(StoredPairs::from_tensors(file, "", {}, 1, 1).counts(), pairs.counts());
  file.tensors.erase("keys");
  EXPECT_THROW(StoredPairs::from_tensors(file, "", {}, 1, 1), DataError);
}

TEST(StoredPairs, AFileWithoutRowsOpensNoMemory) {
  StoredPairs pairs;
  pairs.store(pair_of(1, 1), pair_of(1, 1));
  StoredPairs none = StoredPairs::from_tensors(file_of(pairs.select({})), "", {}, 1, 1);
  EXPECT_EQ(none.rows(), 0);
  none.store(pair_of(2, 1), pair_of(2, 1));
  EXPECT_EQ(none.rows(), 2);
}

TEST(StoredPairs, AFileOfAnImpossibleNumberOfPairsIsRefused) {
  StoredPairs pairs({MemoryBound{2}});
  for (int t = 0; t < 3; ++t) pairs.store(pair_of(1, t), pair_of(1, t));
  TensorFile file = file_of(pairs);
  file.tensors["stored"].fill_(std::numeric_limits<int64_t>::max());  // one more would overflow
  EXPECT_THROW(StoredPairs::from_tensors(file, "", pairs.options(), 1, 1), DataError);
}

TEST(StoredPairs, AFileOfAMemoryThatHasEvictedKeepsItsBound) {
  StoredPairs pairs({MemoryBound{3}});
  for (int t = 0; t < 3; ++t) pairs.store(pair_of(1, t), pair_of(1, t));
  const auto in_bound = [&](int64_t bound) {
    return StoredPairs::from_tensors(file_of(pairs), "", {MemoryBound{bound}}, 1, 1);
  };
  EXPECT_EQ(in_bound(5).counts(), pairs.counts());
  pairs.store(pair_of(1, 3), pair_of(1, 3));
  EXPECT_EQ(keys_of(in_bound(3), 0), (std::vector<float>{3, 1, 2}));
  EXPECT_EQ(keys_of(in_bound(0), 0), (std::vector<float>{3, 1, 2}));
  EXPECT_THROW(in_bound(5), DataError);  // which of them is the oldest one?
}

TEST(StoredPairs, AFileWithMorePlacesThanTheBoundLosesNoPair) {
  const at::Tensor two = at::full({1}, 2, at::kLong), places = at::ones({1, 1, 5, 1});
  const TensorFile file{"file",
                        {{"counts", two},
                         {"stored", two},
                         {"keys", places},
                         {"values", places},
                         {"usage", at::tensor({0.5F, 1.0F, 0.0F, 0.0F, 0.0F}).view({1, 1, 5})}},
                        {}};
  const auto opened = [&](Eviction eviction) {
    return StoredPairs::from_tensors(file, "", {.bound = {2, eviction}}, 1, 1);
  };
  StoredPairs least_used = opened(Eviction::kLeastUsed), oldest = opened(Eviction::kOldest);
  for (StoredPairs* pairs : {&least_used, &oldest}) {
    pairs->store(pair_of(1, 9), pair_of(1, 9));
    EXPECT_EQ(keys_of(*pairs, 0), (std::vector<float>{9, 1}));
  }
  const at::Tensor more = at::tensor({3.0F, 4.0F}).view({1, 2, 1, 1});
  oldest.store_and_retrieve(more, more, more, ops::Precision::kFloat32);
  EXPECT_EQ(keys_of(oldest, 0), (std::vector<float>{4, 3}));
}

TEST(StoredPairs, StackAndSelectKeepEachRowsCount) {
  StoredPairs longer, shorter, none;
  for (int t = 0; t < 100; ++t) longer.store(pair_of(1, t), pair_of(1, t));
  shorter.store(pair_of(2, 7), pair_of(2, 8));
  none.store_sequence(at::zeros({1, 0, 1, 1}), at::zeros({1, 0, 1, 1}));
  StoredPairs all = StoredPairs::stack({&longer, &shorter, &none});
  EXPECT_EQ(all.counts(), (std::vector<int64_t>{100, 1, 1, 0}));
  const at::Tensor reads = all.retrieve(at::zeros({4, 1, 1})).value;
  EXPECT_TRUE(at::allclose(reads.flatten(), at::tensor({49.5f, 8.f, 8.f, 0.f})));
  all.store_sequence(at::full({4, 2, 1, 1}, 5.0), at::full({4, 2, 1, 1}, 5.0));
  EXPECT_EQ(all.counts(), (std::vector<int64_t>{102, 3, 3, 2}));
  const StoredPairs chosen = all.select({1, 1, 3});
  EXPECT_EQ(keys_of(chosen, 1), (std::vector<float>{7, 5, 5}));
  EXPECT_EQ(keys_of(chosen, 2), (std::vector<float>{5, 5}));
}

/// Many queries at once are multiplied with keys as floats, one by one with bytes in 14 bits.
bool agree(const at::Tensor& at_once, const at::Tensor& in_turn, const PairOptions& options) {
  const bool bytes = options.type == ops::WeightType::kInt8;
  return at::allclose(at_once, in_turn, bytes ? 2e-3 : 1e-5, bytes ? 2e-4 : 1e-6);
}

TEST(StoredPairs, StoringAndRetrievingInOneGoIsDoingSoInTurn) {
  at::manual_seed(1);
  const int64_t T = 9;
  const at::Tensor keys = at::randn({2, T, 3, 4}), values = at::randn({2, T, 3, 4});
  const at::Tensor queries = at::randn({2, T, 3, 4});
  const std::vector<MemoryBound> bounds = {
      {}, {4, Eviction::kOldest}, {4, Eviction::kLeastUsed}, {40}};
  for (const PairOptions& options : in_every_type(bounds))
    for (bool query_first : {false, true})
      for (int64_t before : {0, 3}) {
        StoredPairs in_turn(options), at_once(options);
        for (StoredPairs* pairs : {&in_turn, &at_once})
          pairs->store_sequence(keys.narrow(1, 0, before), values.narrow(1, 0, before));
        const int64_t pairs = query_first ? T - 1 : T;
        std::vector<at::Tensor> expected;
        for (int64_t t = 0; t < T; ++t) {
          const int64_t pair = query_first ? t - 1 : t;
          if (pair >= 0) in_turn.store(keys.select(1, pair), values.select(1, pair));
          const auto [read, weights] = in_turn.retrieve(queries.select(1, t));
          in_turn.count_use(weights);
          expected.push_back(read);
        }
        const at::Tensor reads =
            at_once.store_and_retrieve(keys.narrow(1, 0, pairs), values.narrow(1, 0, pairs),
                                       queries, ops::Precision::kFloat32);
        EXPECT_TRUE(agree(reads, at::stack(expected, 1), options))
            << options.bound.pairs << " " << query_first << " " << before;
        EXPECT_EQ(at_once.counts(), in_turn.counts());
        EXPECT_EQ(at_once.stored(), in_turn.stored());
        EXPECT_TRUE(at_once.keys(1).equal(in_turn.keys(1)));
      }
}

TEST(StoredPairs, NoQueriesAreNoReads) {
  for (const PairOptions& options : in_every_type({{}, {4, Eviction::kLeastUsed}})) {
    StoredPairs pairs(options);
    const at::Tensor none = at::zeros({2, 0, 3, 4});
    EXPECT_EQ(pairs.store_and_retrieve(none, none, none, ops::Precision::kFloat32).sizes(),
              none.sizes());
  }
}

/// Stores and reads pair after pair; the reads [B, T, H, D].
at::Tensor in_turn_by_hand(StoredPairs& pairs, const at::Tensor& keys, const at::Tensor& values,
                           const at::Tensor& queries) {
  std::vector<at::Tensor> reads;
  for (int64_t t = 0; t < queries.size(1); ++t) {
    pairs.store(keys.select(1, t), values.select(1, t));
    reads.push_back(pairs.retrieve(queries.select(1, t)).value);
  }
  return at::stack(reads, 1);
}

/// A full memory reads a text in pieces as it reads it pair by pair, wherever the pieces end.
TEST(StoredPairs, AFullMemoryReadsPiecesAsItReadsPairs) {
  at::manual_seed(1);
  const int64_t T = 14;
  for (const auto type : {at::kFloat, at::kDouble}) {
    const auto numbers = [&] { return at::randn({2, T, 3, 5}, type); };
    const at::Tensor keys = numbers(), values = numbers(), queries = numbers();
    for (const int64_t bound : {1, 2, 5, 13}) {
      StoredPairs in_turn({MemoryBound{bound, Eviction::kOldest}});
      const at::Tensor expected = in_turn_by_hand(in_turn, keys, values, queries);
      for (int64_t first = 0; first <= T; ++first)
        for (int64_t second = first; second <= T; ++second) {
          StoredPairs pieces({MemoryBound{bound, Eviction::kOldest}});
          std::vector<at::Tensor> reads;
          for (const auto& [begin, end] :
               {std::pair{int64_t{0}, first}, std::pair{first, second}, std::pair{second, T}}) {
            const auto piece = [begin = begin, end = end](const at::Tensor& all) {
              return all.narrow(1, begin, end - begin);
            };
            if (begin < end)
              reads.push_back(pieces.store_and_retrieve(piece(keys), piece(values), piece(queries),
                                                        ops::Precision::kFloat32));
          }
          ASSERT_TRUE(at::allclose(at::cat(reads, 1), expected, 1e-5, 1e-6))
              << bound << " " << first << " " << second;
          ASSERT_TRUE(pieces.keys(1).equal(in_turn.keys(1)));
          ASSERT_TRUE(pieces.values(0).equal(in_turn.values(0)));
          ASSERT_EQ(pieces.stored(), in_turn.stored());
        }
    }
  }
}

TEST(StoredPairs, RowsOfDifferentCountsReadPiecesAsTheyReadPairs) {
  at::manual_seed(2);
  const auto numbers = [](int64_t rows, int64_t length) { return at::randn({rows, length, 2, 4}); };
  for (const PairOptions& options : in_every_type({{}, {6, Eviction::kOldest}})) {
    StoredPairs few(options), more(options);
    few.store_sequence(numbers(1, 2), numbers(1, 2));
    more.store_sequence(numbers(1, 5), numbers(1, 5));
    StoredPairs in_turn = StoredPairs::stack({&few, &more}), at_once = in_turn;
    const at::Tensor keys = numbers(2, 9), values = numbers(2, 9), queries = numbers(2, 9);
    const at::Tensor expected = in_turn_by_hand(in_turn, keys, values, queries);
    EXPECT_TRUE(agree(at_once.store_and_retrieve(keys, values, queries, ops::Precision::kFloat32),
                      expected, options));
    for (const int64_t row : {0, 1}) EXPECT_TRUE(at_once.keys(row).equal(in_turn.keys(row)));
    EXPECT_EQ(at_once.counts(), in_turn.counts());
    EXPECT_EQ(at_once.stored(), in_turn.stored());
  }
}

TEST(StoredPairs, AValueThatCannotBeRoundedReplacesNoPair) {
  StoredPairs pairs({MemoryBound{1}, ops::WeightType::kInt8});
  pairs.store(pair_of(1, 1), pair_of(1, 2));
  const std::vector<float> before = keys_of(pairs, 0);
  EXPECT_THROW(pairs.store(pair_of(1, 4), pair_of(1, NAN)), UsageError);
  EXPECT_EQ(keys_of(pairs, 0), before);
  const at::Tensor keys = at::full({1, 2, 1, 1}, 5.0), values = keys.clone();
  values[0][1].fill_(NAN);  // what comes before it is not stored either
  EXPECT_THROW(pairs.store_sequence(keys, values), UsageError);
  EXPECT_EQ(keys_of(pairs, 0), before);
  EXPECT_THROW(pairs.store_and_retrieve(keys, values, keys, ops::Precision::kFloat32), UsageError);
  EXPECT_EQ(keys_of(pairs, 0), before);
}

TEST(StoredPairs, AFirstPairThatCannotBeRoundedOpensNoMemory) {
  StoredPairs pairs({{}, ops::WeightType::kInt8});
  EXPECT_THROW(pairs.store(pair_of(1, 4), pair_of(1, NAN)), UsageError);
  EXPECT_EQ(pairs.rows(), 0);
  pairs.store(pair_of(2, 1), pair_of(2, 1));
  EXPECT_EQ(pairs.rows(), 2);
}

TEST(StoredPairs, RefusesAndStaysAsItWas) {
  StoredPairs pairs;
  pairs.store(at::ones({2, 3, 4}), at::ones({2, 3, 4}));
  for (const auto& wrong : {at::ones({1, 3, 4}), at::ones({2, 2, 4}), at::ones({2, 3, 5})})
    EXPECT_THROW(pairs.store(wrong, wrong), UsageError);
  EXPECT_THROW(pairs.store(at::ones({2, 3, 4}), at::ones({2, 3, 3})), UsageError);
  EXPECT_THROW(pairs.store_sequence(at::ones({2, 3, 4}), at::ones({2, 3, 4})), UsageError);
  const auto refuses = [&](int64_t stored, at::IntArrayRef queries) {
    const at::Tensor some = at::ones({2, stored, 3, 4});
    EXPECT_THROW(pairs.store_and_retrieve(some, some, at::ones(queries), ops::Precision::kFloat32),
                 UsageError);
  };
  refuses(2, {2, 4, 3, 4});
  refuses(2, {2, 1, 3, 4});
  refuses(2, {2, 2, 3, 5});
  refuses(2, {1, 2, 3, 4});
  const at::Tensor some = at::ones({2, 2, 3, 4});
  EXPECT_THROW(pairs.store_and_retrieve(some, some, some.to(at::kDouble), ops::Precision::kFloat32),
               UsageError);
  const at::Tensor three_sizes = at::ones({2, 3, 4});
  EXPECT_THROW(
      pairs.store_and_retrieve(three_sizes, three_sizes, three_sizes, ops::Precision::kFloat32),
      UsageError);
  const at::Tensor doubles = at::ones({2, 3, 4}, at::kDouble);
  EXPECT_THROW(pairs.store(doubles, doubles), UsageError);
  EXPECT_THROW(pairs.store(at::ones({2, 3, 4}), doubles), UsageError);
  EXPECT_EQ(pairs.counts(), (std::vector<int64_t>{1, 1}));
  EXPECT_TRUE(pairs.keys(0).equal(at::ones({3, 1, 4})));
  EXPECT_THROW(pairs.keys(2), UsageError);
  EXPECT_THROW(StoredPairs().values(0), UsageError);
  StoredPairs least_used({MemoryBound{4, Eviction::kLeastUsed}});
  EXPECT_THROW(least_used.prepare_next(at::ones({2, 3, 4})), UsageError);
  least_used.store(at::ones({2, 3, 4}), at::ones({2, 3, 4}));
  for (const auto& weights : {at::ones({2, 3, 5}), at::ones({1, 3, 1}), at::ones({3})})
    EXPECT_THROW(least_used.count_use(weights), UsageError);
  StoredPairs unused, of_doubles;
  EXPECT_THROW(unused.store(at::ones({2, 3, 4}, at::kLong), at::ones({2, 3, 4}, at::kLong)),
               UsageError);
  EXPECT_EQ(unused.rows(), 0);
  of_doubles.store(doubles, doubles);
  EXPECT_THROW(StoredPairs::stack({&pairs, &of_doubles}), UsageError);
  EXPECT_THROW(StoredPairs({MemoryBound{-1}}), UsageError);
  const StoredPairs bounded({MemoryBound{4}});
  EXPECT_THROW(StoredPairs::stack({&pairs, &bounded}), UsageError);
  StoredPairs halves({{}, ops::WeightType::kBFloat16}), wider;
  EXPECT_THROW(StoredPairs::stack({&pairs, &halves}), UsageError);
  EXPECT_THROW(halves.store(doubles, doubles), UsageError);
  EXPECT_EQ(halves.rows(), 0);
  wider.store(at::ones({2, 3, 5}), at::ones({2, 3, 5}));
  EXPECT_THROW(StoredPairs::stack({&pairs, &wider}), UsageError);
  EXPECT_THROW(StoredPairs::stack({}), UsageError);
  EXPECT_THROW(pairs.select({2}), UsageError);
  EXPECT_THROW(pairs.select({-1}), UsageError);
}

}  // namespace
}  // namespace tessera
