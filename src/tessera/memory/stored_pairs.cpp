#include "tessera/memory/stored_pairs.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/memory/rows_of_states.h"
#include "tessera/ops/weights.h"
#include "tessera/tensor/check.h"

namespace tessera {
namespace {

constexpr int64_t kFirstCapacity = 64;             // pairs
constexpr int64_t kMostStored = int64_t{1} << 53;  // pairs ever, in a file: sums do not overflow

at::Tensor copy(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.clone() : tensor;
}

/// `wanted` places [B, H, wanted, ..] of zeros, of which the first are those of `old`.
at::Tensor grown(const at::Tensor& old, int64_t wanted) {
  std::vector<int64_t> sizes = old.sizes().vec();
  sizes[2] = wanted;
  at::Tensor result = at::zeros(sizes, old.options());
  result.narrow(2, 0, old.size(2)).copy_(old);
  return result;
}

// Stored pairs as tensors of a file, and back.

std::vector<int64_t> as_vector(const at::Tensor& numbers) {
  const at::Tensor flat = numbers.contiguous();
  return {flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel()};
}

/// A copy of pairs [rows, heads, pairs, width] in numbers of this type; pairs of -1 allows any
/// count.
at::Tensor pairs_from(const TensorFile& file, const std::string& name,
                      const std::vector<int64_t>& sizes, ops::WeightType type) {
  const auto found = file.tensors.find(name);
  if (found != file.tensors.end() && ops::weight_type(found->second) != type)
    throw DataError(file.path, "'{}' keeps pairs in {}, the model that goes on with them in {}",
                    name, config::enum_name(ops::weight_type(found->second)),
                    config::enum_name(type));
  if (type == ops::WeightType::kFloat32) return file.at(name, sizes, at::kFloat).clone();
  if (type == ops::WeightType::kBFloat16) return file.at(name, sizes, at::kBFloat16).clone();
  return file.at(name, {sizes[0], sizes[1], sizes[2], ops::int8_row_bytes(sizes[3])}, at::kChar)
      .clone();
}

}  // namespace

StoredPairs::StoredPairs(PairOptions options) : options_(options) {
  TESSERA_CHECK(bound() >= 0, "StoredPairs: a bound of ", bound(),
                " pairs; expected at least 1, or 0 for no bound");
}

StoredPairs::StoredPairs(const StoredPairs& other)
    : options_(other.options_),
      width_(other.width_),
      counts_(other.counts_),
      stored_(other.stored_),
      keys_(copy(other.keys_)),
      values_(copy(other.values_)),
      usage_(copy(other.usage_)) {}

StoredPairs& StoredPairs::operator=(const StoredPairs& other) {
  return *this = StoredPairs(other);
}

bool StoredPairs::level() const {
  return std::adjacent_find(counts_.begin(), counts_.end(), std::not_equal_to<>()) == counts_.end();
}

int64_t StoredPairs::most_pairs() const {
  return counts_.empty() ? 0 : *std::max_element(counts_.begin(), counts_.end());
}

void StoredPairs::check_sizes(int64_t rows, int64_t heads, int64_t width) const {
  if (!keys_.defined()) return;
  TESSERA_CHECK(rows == keys_.size(0) && heads == keys_.size(1) && width == width_,
                "StoredPairs: pairs of ", rows, " rows, ", heads, " heads and ", width,
                " channels; the memory has ", keys_.size(0), ", ", keys_.size(1), " and ", width_);
}

/// Throws UsageError unless keys and values are pairs [.., H, D] like those that are stored.
void StoredPairs::check_like(const at::Tensor& keys, const at::Tensor& values) const {
  check_sizes(keys.size(0), keys.size(-2), keys.size(-1));
  const at::Tensor& stored = keys_.defined() ? keys_ : keys;
  const bool rounds = options_.type != ops::WeightType::kFloat32;
  const at::ScalarType type = rounds ? at::kFloat : stored.scalar_type();
  TESSERA_CHECK(at::isFloatingType(type), "StoredPairs: pairs of ", type,
                ", expected floating-point numbers");
  for (const at::Tensor& pairs : {keys, values})
    TESSERA_CHECK(pairs.scalar_type() == type && pairs.device() == stored.device(),
                  "StoredPairs: pairs of ", pairs.scalar_type(), " on ", pairs.device(),
                  ", expected ", type, " on ", stored.device());
}

at::Tensor StoredPairs::kept(const at::Tensor& pairs) const {
  return options_.type == ops::WeightType::kFloat32 ? pairs : ops::stored_as(pairs, options_.type);
}

/// Grows the room to `pairs`, which check_like has let pass.
void StoredPairs::reserve(const at::Tensor& like, int64_t pairs) {
  if (!keys_.defined()) {
    const int64_t batch = like.size(0), heads = like.size(-2);
    width_ = like.size(-1);
    counts_.assign(batch, 0);
    stored_.assign(batch, 0);
    keys_ = values_ = kept(at::zeros({batch, heads, 0, width_}, like.options()));
    if (counts_use()) usage_ = at::zeros({batch, heads, 0}, like.options());
  }
  if (capacity() >= pairs) return;
  int64_t wanted = std::max({pairs, kFirstCapacity, 2 * capacity()});
  if (bound() > 0) wanted = std::min(wanted, bound());
  keys_ = grown(keys_, wanted);
  values_ = grown(values_, wanted);
  if (usage_.defined()) usage_ = grown(usage_, wanted);
}

/// Makes room for one pair more in every row, where it may hold one more.
void StoredPairs::reserve_next(const at::Tensor& like) {
  const int64_t pairs = most_pairs() + 1;
  reserve(like, bound() > 0 ? std::min(pairs, bound()) : pairs);
}

/// Where each row puts one pair more: behind the others, or in place of the oldest.
std::vector<int64_t> StoredPairs::next_slots() const {
  std::vector<int64_t> slots = counts_;
  for (size_t row = 0; row < slots.size(); ++row)
    if (bound() > 0 && counts_[row] == bound()) slots[row] = stored_[row] % bound();
  return slots;
}

void StoredPairs::count_next() {
  for (size_t row = 0; row < counts_.size(); ++row) {
    if (bound() == 0 || counts_[row] < bound()) ++counts_[row];
    ++stored_[row];
  }
}

ops::PairStorage StoredPairs::prepare_next(const at::Tensor& like) {
  TESSERA_CHECK(!counts_use(),
                "StoredPairs::prepare_next: which pair is evicted depends on what was read; store "
                "the pair with store()");
  check_like(like, like);
  reserve_next(like);
  ops::PairStorage next = {keys_, values_, next_slots(), counts_};
  for (int64_t& count : next.counts)
    if (bound() == 0 || count < bound()) ++count;
  return next;
}

void StoredPairs::store(const at::Tensor& key, const at::Tensor& value) {
  at::NoGradGuard no_grad;
  TESSERA_CHECK(key.dim() == 3 && key.sizes() == value.sizes(), "StoredPairs: key ", key.sizes(),
                " and value ", value.sizes(), " must both be [B, H, D]");
  check_like(key, value);
  if (level() && holds(1)) return store_sequence(key.unsqueeze(1), value.unsqueeze(1));
  const at::Tensor kept_key = kept(key).unsqueeze(2), kept_value = kept(value).unsqueeze(2);
  reserve_next(key);
  at::Tensor slots = at::tensor(next_slots(), at::kLong).unsqueeze(1).repeat({1, keys_.size(1)});
  for (int64_t row = 0; row < rows(); ++row)
    if (counts_use() && counts_[row] == bound()) slots[row].copy_(usage_[row].argmin(-1));
  slots = slots.to(keys_.device()).unsqueeze(-1);  // [B, H, 1]
  const at::Tensor places = slots.expand({-1, -1, keys_.size(3)}).unsqueeze(2);
  keys_.scatter_(2, places, kept_key);
  values_.scatter_(2, places, kept_value);
  if (usage_.defined()) usage_.scatter_(2, slots, 1.0);
  count_next();
}

void StoredPairs::store_sequence(const at::Tensor& keys, const at::Tensor& values) {
  at::NoGradGuard no_grad;
  TESSERA_CHECK(keys.dim() == 4 && keys.sizes() == values.sizes(), "StoredPairs: keys ",
                keys.sizes(), " and values ", values.sizes(), " must both be [B, T, H, D]");
  check_like(keys, values);
  const int64_t length = keys.size(1);
  const at::Tensor kept_keys = kept(keys), kept_values = kept(values);  // may throw
  if (!holds(length) || !level()) {
    for (int64_t t = 0; t < length; ++t) store(keys.select(1, t), values.select(1, t));
    return;
  }
  reserve(keys, most_pairs() + length);
  const int64_t first = most_pairs();
  keys_.narrow(2, first, length).copy_(kept_keys.transpose(1, 2));
  values_.narrow(2, first, length).copy_(kept_values.transpose(1, 2));
  if (usage_.defined()) usage_.narrow(2, first, length).fill_(1.0);
  for (size_t row = 0; row < counts_.size(); ++row) {
    counts_[row] += length;
    stored_[row] += length;
  }
}

ops::MemoryReading StoredPairs::retrieve(const at::Tensor& query) const {
  check_shape(query, {-1, -1, -1}, "StoredPairs: query");
  if (!keys_.defined())
    return {at::zeros_like(query), at::zeros({query.size(0), query.size(1), 0}, query.options())};
  const int64_t pairs = most_pairs();
  const at::Tensor counts = level() ? at::Tensor() : at::tensor(counts_, at::kLong);
  return ops::memory_read(query, keys_.narrow(2, 0, pairs), values_.narrow(2, 0, pairs), counts);
}

void StoredPairs::count_use(const at::Tensor& weights) {
  if (!usage_.defined()) return;
  at::NoGradGuard no_grad;
  check_shape(weights, {rows(), usage_.size(1), -1}, "StoredPairs: weights");
  TESSERA_CHECK(weights.size(2) <= capacity(), "StoredPairs: weights of ", weights.size(2),
                " pairs; the memory has room for ", capacity());
  at::Tensor used = usage_.narrow(2, 0, weights.size(-1));
  used.mul_(kUsageDecay).add_(weights);
}

at::Tensor StoredPairs::floats_of(const at::Tensor& all, int64_t row) const {
  check_rows({row}, rows(), "StoredPairs");
  return ops::as_floats(all[row].narrow(1, 0, counts_[row]), width_);
}

StoredPairs StoredPairs::stack(const std::vector<const StoredPairs*>& parts) {
  TESSERA_CHECK(!parts.empty(), "StoredPairs::stack: nothing to stack");
  int64_t widest = 0;
  for (const auto* part : parts) {
    TESSERA_CHECK(part->options_ == parts.front()->options_,
                  "StoredPairs::stack: memories that keep their pairs in different ways");
    widest = std::max(widest, part->capacity());
  }
  StoredPairs result(parts.front()->options_);
  result.width_ = parts.front()->width_;
  std::vector<at::Tensor> keys, values, usage;
  for (const auto* part : parts) {
    TESSERA_CHECK(part->keys_.defined() == parts.front()->keys_.defined(),
                  "StoredPairs::stack: some of the memories have never stored a pair, others have; "
                  "expected all or none");
    result.counts_.insert(result.counts_.end(), part->counts_.begin(), part->counts_.end());
    result.stored_.insert(result.stored_.end(), part->stored_.begin(), part->stored_.end());
    if (!part->keys_.defined()) continue;
    parts.front()->check_sizes(parts.front()->rows(), part->keys_.size(1), part->width_);
    TESSERA_CHECK(part->keys_.scalar_type() == parts.front()->keys_.scalar_type(),
                  "StoredPairs::stack: pairs of ", parts.front()->keys_.scalar_type(), " and of ",
                  part->keys_.scalar_type());
    const int64_t missing = widest - part->capacity();
    keys.push_back(at::constant_pad_nd(part->keys_, {0, 0, 0, missing}));
    values.push_back(at::constant_pad_nd(part->values_, {0, 0, 0, missing}));
    if (part->usage_.defined()) usage.push_back(at::constant_pad_nd(part->usage_, {0, missing}));
  }
  if (!keys.empty()) {
    result.keys_ = at::cat(keys);
    result.values_ = at::cat(values);
  }
  if (!usage.empty()) result.usage_ = at::cat(usage);
  return result;
}

StoredPairs StoredPairs::select(const std::vector<int64_t>& chosen) const {
  check_rows(chosen, rows(), "StoredPairs::select");
  StoredPairs result(options_);
  result.width_ = width_;
  for (int64_t row : chosen) {
    result.counts_.push_back(counts_[row]);
    result.stored_.push_back(stored_[row]);
  }
  if (!keys_.defined()) return result;
  result.keys_ = chosen_rows(keys_, chosen);
  result.values_ = chosen_rows(values_, chosen);
  if (usage_.defined()) result.usage_ = chosen_rows(usage_, chosen);
  return result;
}

NamedTensors StoredPairs::tensors(const std::string& prefix) const {
  NamedTensors result = {{prefix + "counts", at::tensor(counts_, at::kLong)},
                         {prefix + "stored", at::tensor(stored_, at::kLong)}};
  if (!keys_.defined()) return result;
  result.emplace_back(prefix + "keys", keys_.narrow(2, 0, most_pairs()));
  result.emplace_back(prefix + "values", values_.narrow(2, 0, most_pairs()));
  if (usage_.defined()) result.emplace_back(prefix + "usage", usage_.narrow(2, 0, most_pairs()));
  return result;
}

StoredPairs StoredPairs::from_tensors(const TensorFile& file, const std::string& prefix,
                                      PairOptions options, int64_t heads, int64_t width) {
  StoredPairs pairs(options);
  pairs.counts_ = as_vector(file.at(prefix + "counts", {-1}, at::kLong));
  const auto rows = std::ssize(pairs.counts_);
  pairs.stored_ = as_vector(file.at(prefix + "stored", {rows}, at::kLong));
  if (rows == 0) return pairs;  // of a memory that was not opened
  pairs.width_ = width;
  pairs.keys_ = pairs_from(file, prefix + "keys", {rows, heads, -1, width}, options.type);
  const int64_t capacity = pairs.keys_.size(2);
  pairs.values_ = pairs_from(file, prefix + "values", {rows, heads, capacity, width}, options.type);
  if (pairs.counts_use())
    pairs.usage_ = file.at(prefix + "usage", {rows, heads, capacity}, at::kFloat).clone();
  const int64_t most = pairs.bound() > 0 ? std::min(pairs.bound(), capacity) : capacity;
  for (at::Tensor* places : {&pairs.keys_, &pairs.values_, &pairs.usage_})
    if (places->defined()) *places = places->narrow(2, 0, most).contiguous();
  const bool evicts_oldest = pairs.bound() > 0 && !pairs.counts_use();
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t count = pairs.counts_[row], stored = pairs.stored_[row];
    if (count < 0 || count > most || stored < count)
      throw DataError(file.path, "'{}counts' says {} pairs of {} ever stored, expected at most {}",
                      prefix, count, stored, most);
    if (stored > kMostStored)
      throw DataError(file.path, "'{}stored' says {} pairs, expected at most {}", prefix, stored,
                      kMostStored);
    // The place of the oldest pair follows from the bound.
    if (evicts_oldest && stored > count && count < pairs.bound())
      throw DataError(file.path,
                      "'{}counts' says {} pairs of {} ever stored, so that some were evicted; "
                      "expected {}, the bound",
                      prefix, count, stored, pairs.bound());
  }
  return pairs;
}

}  // namespace tessera
