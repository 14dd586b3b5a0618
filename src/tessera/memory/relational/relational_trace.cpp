#include "tessera/memory/relational/relational_trace.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "tessera/ops/outer_product_attention.h"

namespace tessera {
namespace {

/// Candidates after which R is formed. A read costs one pass over the factors of each candidate,
/// forming R some passes over matrices that are D / N times larger; at the usual sizes both cost
/// the same here.
constexpr int64_t kLongestList = 8;

}  // namespace

RelationalTrace::RelationalTrace(const RelationalMemoryImpl& parameters, ops::ReadSide side,
                                 at::Tensor memory, at::Tensor slots, at::Tensor patterns)
    : decay_(parameters.decay()),
      gain_(parameters.gain()),
      forgets_(parameters.forgets()),
      side_(side),
      formed_(std::move(memory)),
      formed_weight_(at::ones_like(decay_)),
      slots_(std::move(slots)),
      patterns_(std::move(patterns)),
      step_slots_(slots_.unbind()),
      step_patterns_(patterns_.unbind()) {}

at::Tensor RelationalTrace::read() {
  if (static_cast<int64_t>(written_.size()) >= kLongestList) memory();
  if (formed_reads_.empty()) {
    const int64_t steps = std::min(kLongestList, slots_.size(0) - time_);
    formed_reads_ = ops::contract(formed_, slots_.narrow(0, time_, steps).transpose(0, 1),
                                  patterns_.narrow(0, time_, steps).transpose(0, 1), side_)
                        .unbind(1);
  }
  at::Tensor sum = formed_weight_ * formed_reads_[written_.size()];  // [B, D]
  for (const auto& [candidate, weight] : written_)
    sum = sum + weight * ops::contract(candidate, step_slots_[time_], step_patterns_[time_], side_);
  return sum;
}

void RelationalTrace::write(const ops::Associations& candidate) {
  if (forgets_) written_.clear();
  formed_weight_ = formed_weight_ * decay_;
  for (auto& earlier : written_) earlier.weight = earlier.weight * decay_;
  written_.push_back({candidate, gain_});
  ++time_;
}

const at::Tensor& RelationalTrace::memory() {
  if (written_.empty()) return formed_;
  std::vector<at::Tensor> factors, values;
  for (const auto& [candidate, weight] : written_) {
    factors.push_back(candidate.factors);
    values.push_back(weight * candidate.values);
  }
  const at::Tensor sum = ops::associate(at::cat(factors, 1), at::cat(values, 1));
  formed_ = forgets_ ? sum : at::addcmul(sum, formed_, formed_weight_);
  formed_weight_ = at::ones_like(decay_);
  formed_reads_.clear();
  written_.clear();
  return formed_;
}

}  // namespace tessera
