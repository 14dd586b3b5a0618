#include "tessera/memory/detail/relational_trace.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "tessera/ops/self_attentive_memory.h"

namespace tessera {
namespace {

/// Candidates after which R is formed. Each costs as many reads as steps are left until then, of
/// N N D products each; forming R costs N N D D for each candidate.
constexpr int64_t kLongestList = 64;

}  // namespace

RelationalTrace::RelationalTrace(const RelationalMemoryImpl& parameters, ops::ReadSide side,
                                 at::Tensor memory, const at::Tensor& slots,
                                 const at::Tensor& patterns)
    : parameters_(parameters),
      side_(side),
      formed_(std::move(memory)),
      slots_(slots.transpose(0, 1)),
      patterns_(patterns.transpose(0, 1)) {}

at::Tensor RelationalTrace::read() {
  if (!reads_.defined() || reads_.size(1) == 0) {
    const int64_t steps = std::min(kLongestList, slots_.size(1) - time_);
    reads_ = ops::contract(memory(), slots_.narrow(1, time_, steps),
                           patterns_.narrow(1, time_, steps), side_);
  }
  return reads_.select(1, 0);
}

void RelationalTrace::write(const ops::Associations& candidate) {
  if (parameters_.forgets()) written_.clear();
  if (std::ssize(written_) >= kLongestList) memory();
  written_.push_back(candidate);
  ++time_;
  if (!reads_.defined()) return;
  const int64_t steps = reads_.size(1) - 1;
  reads_ = reads_.narrow(1, 1, steps);
  if (steps > 0)
    reads_ = parameters_.blend(reads_, ops::contract(candidate, slots_.narrow(1, time_, steps),
                                                     patterns_.narrow(1, time_, steps), side_));
}

const at::Tensor& RelationalTrace::memory() {
  if (written_.empty()) return formed_;
  const at::Tensor decay = parameters_.decay();
  at::Tensor weight = parameters_.gain();  // of a candidate in the present memory, [1]
  std::vector<at::Tensor> factors, values;
  for (auto written = written_.rbegin(); written != written_.rend(); ++written) {
    factors.push_back(written->factors);
    values.push_back(weight * written->values);
    weight = weight * decay;
  }
  const at::Tensor sum = ops::associate(at::cat(factors, 1), at::cat(values, 1));
  formed_ = parameters_.forgets()
                ? sum
                : at::addcmul(sum, formed_, decay.pow(static_cast<double>(written_.size())));
  written_.clear();
  return formed_;
}

}  // namespace tessera
