// Many pairs stored and read at once.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "tessera/memory/rows_of_states.h"
#include "tessera/memory/stored_pairs.h"
#include "tessera/ops/causal_read.h"
#include "tessera/tensor/check.h"

namespace tessera {
namespace {

/// Writes rows [T, H, D] into places first, first + 1, … of pairs [H, capacity, D], from the last
/// place on to the first.
void write_round(const at::Tensor& pairs, int64_t first, const at::Tensor& rows) {
  const int64_t before_end = std::min(rows.size(0), pairs.size(1) - first);
  const int64_t behind = rows.size(0) - before_end;
  pairs.narrow(1, first, before_end).copy_(rows.narrow(0, 0, before_end).transpose(0, 1));
  pairs.narrow(1, 0, behind).copy_(rows.narrow(0, before_end, behind).transpose(0, 1));
}

}  // namespace

/// All rows level: the last query reads all pairs, each one before it a pair less.
at::Tensor StoredPairs::retrieve_sequence(const at::Tensor& queries,
                                          ops::Precision precision) const {
  const int64_t pairs = most_pairs();
  const auto by_time = [&](const at::Tensor& all) {
    return all.narrow(2, 0, pairs).transpose(1, 2);  // [B, N, H, D]
  };
  return ops::causal_read(queries, by_time(keys_), by_time(values_),
                          {.lag = queries.size(1) - pairs, .precision = precision});
}

/// Each query reads what the memory holds once its pair is stored: of the old pairs and the new
/// ones after them, the last that the bound allows. All rows are full; at most as many pairs as the
/// bound.
at::Tensor StoredPairs::store_and_retrieve_evicting(const at::Tensor& keys,
                                                    const at::Tensor& values,
                                                    const at::Tensor& queries,
                                                    ops::Precision precision) {
  reserve(keys, bound());
  const std::vector<int64_t> slots = next_slots();
  const at::Tensor new_keys = kept(keys), new_values = kept(values);
  const auto after_old = [&](const at::Tensor& stored, const at::Tensor& added) {
    std::vector<at::Tensor> old;  // [H, N, D] of each row, the oldest first
    for (int64_t row = 0; row < rows(); ++row) old.push_back(stored[row].roll(-slots[row], 1));
    return at::cat({at::stack(old).transpose(1, 2), added}, 1);  // [B, N + T, H, D]
  };
  const at::Tensor read =
      ops::causal_read(queries, after_old(keys_, new_keys), after_old(values_, new_values),
                       {.lag = -bound(), .window = bound(), .precision = precision});
  for (int64_t row = 0; row < rows(); ++row) {
    write_round(keys_[row], slots[row], new_keys[row]);
    write_round(values_[row], slots[row], new_values[row]);
  }
  for (int64_t t = 0; t < queries.size(1); ++t) count_next();
  return read;
}

/// One after the other, for a memory that looks at what was read to decide what to evict.
at::Tensor StoredPairs::store_and_retrieve_in_turn(const at::Tensor& keys, const at::Tensor& values,
                                                   const at::Tensor& queries) {
  const int64_t pairs = keys.size(1), length = queries.size(1);
  if (pairs < length) store_sequence(keys.narrow(1, 0, 0), values.narrow(1, 0, 0));
  std::vector<at::Tensor> reads;
  for (int64_t t = 0; t < length; ++t) {
    const int64_t pair = t - (length - pairs);
    if (pair >= 0) store(keys.select(1, pair), values.select(1, pair));
    const auto [read, weights] = retrieve(queries.select(1, t));
    count_use(weights);
    reads.push_back(read);
  }
  return length == 1 ? reads.front().unsqueeze(1) : at::stack(reads, 1);
}

at::Tensor StoredPairs::store_and_retrieve(const at::Tensor& keys, const at::Tensor& values,
                                           const at::Tensor& queries, ops::Precision precision) {
  at::NoGradGuard no_grad;
  check_shape(keys, {-1, -1, -1, -1}, "StoredPairs: keys");
  tessera::check_like(queries, {keys.size(0), -1, keys.size(2), keys.size(3)}, keys,
                      "StoredPairs: queries");
  check_shape(values, {keys.size(0), keys.size(1), keys.size(2), keys.size(3)},
              "StoredPairs: values");
  check_like(keys, values);
  const int64_t pairs = keys.size(1), length = queries.size(1);
  TESSERA_CHECK(pairs == length || pairs == length - 1, "StoredPairs: ", pairs,
                " pairs to store between ", length, " queries");
  if (length == 0) return at::zeros_like(queries);
  if (length == 1) return store_and_retrieve_in_turn(keys, values, queries);
  for (const at::Tensor& all : {keys, values}) kept(all);  // throws before some of them are stored
  if (counts_use()) return store_and_retrieve_in_turn(keys, values, queries);
  if (!level())  // rows that hold different numbers of pairs
    return row_by_row(*this, rows(), [&](StoredPairs& one, int64_t row) {
      const auto of_row = [row](const at::Tensor& all) { return all.narrow(0, row, 1); };
      return one.store_and_retrieve(of_row(keys), of_row(values), of_row(queries), precision);
    });
  if (holds(pairs)) {
    store_sequence(keys, values);
    return retrieve_sequence(queries, precision);
  }
  std::vector<at::Tensor> reads;
  const auto none = [](const at::Tensor& all) { return all.narrow(1, 0, 0); };
  if (pairs < length)
    reads.push_back(store_and_retrieve_in_turn(none(keys), none(values), queries.narrow(1, 0, 1)));
  for (int64_t pair = 0; pair < pairs;) {
    // What the memory still has room for, then as many as it holds at a time.
    const int64_t room = bound() - most_pairs();
    const int64_t count = std::min(room > 0 ? room : bound(), pairs - pair);
    const auto part = [&](const at::Tensor& all) {
      return all.narrow(1, pair + all.size(1) - pairs, count);
    };
    reads.push_back(
        room > 0 ? store_and_retrieve(part(keys), part(values), part(queries), precision)
                 : store_and_retrieve_evicting(part(keys), part(values), part(queries), precision));
    pair += count;
  }
  return at::cat(reads, 1);
}

}  // namespace tessera
