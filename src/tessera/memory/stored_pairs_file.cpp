// Stored pairs as tensors of a file, and back.

#include <ATen/ATen.h>

#include <algorithm>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/memory/stored_pairs.h"
#include "tessera/ops/weights.h"

namespace tessera {
namespace {

std::vector<int64_t> as_vector(const at::Tensor& numbers) {
  const at::Tensor flat = numbers.contiguous();
  return {flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel()};
}

/// Pairs [rows, heads, pairs, width] in numbers of this type; pairs of -1 allows any count.
at::Tensor pairs_from(const TensorFile& file, const std::string& name,
                      const std::vector<int64_t>& sizes, ops::WeightType type) {
  const auto found = file.tensors.find(name);
  if (found != file.tensors.end() && ops::weight_type(found->second) != type)
    throw DataError(file.path, "'{}' keeps pairs in {}, the model that goes on with them in {}",
                    name, config::enum_name(ops::weight_type(found->second)),
                    config::enum_name(type));
  if (type == ops::WeightType::kFloat32) return file.at(name, sizes, at::kFloat);
  if (type == ops::WeightType::kBFloat16) return file.at(name, sizes, at::kBFloat16);
  return file.at(name, {sizes[0], sizes[1], sizes[2], ops::int8_row_bytes(sizes[3])}, at::kChar);
}

}  // namespace

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
  const auto rows = static_cast<int64_t>(pairs.counts_.size());
  pairs.stored_ = as_vector(file.at(prefix + "stored", {rows}, at::kLong));
  if (!file.tensors.contains(prefix + "keys")) return StoredPairs(options);
  pairs.width_ = width;
  pairs.keys_ = pairs_from(file, prefix + "keys", {rows, heads, -1, width}, options.type);
  const int64_t capacity = pairs.keys_.size(2);
  pairs.values_ = pairs_from(file, prefix + "values", {rows, heads, capacity, width}, options.type);
  if (pairs.counts_use())
    pairs.usage_ = file.at(prefix + "usage", {rows, heads, capacity}, at::kFloat);
  const int64_t most = pairs.bound() > 0 ? std::min(pairs.bound(), capacity) : capacity;
  for (int64_t row = 0; row < rows; ++row)
    if (pairs.counts_[row] < 0 || pairs.counts_[row] > most ||
        pairs.stored_[row] < pairs.counts_[row])
      throw DataError(file.path, "'{}counts' says {} pairs of {} ever stored, expected at most {}",
                      prefix, pairs.counts_[row], pairs.stored_[row], most);
  return pairs;
}

}  // namespace tessera
