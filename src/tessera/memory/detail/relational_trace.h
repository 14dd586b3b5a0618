#pragma once

#include <vector>

#include "tessera/memory/relational/two_memory_cell.h"

namespace tessera {

/// The relational memory along a sequence: an R that was formed some steps ago, and the factors of
/// what was written since. The reads of the coming steps, whose slots and patterns are known
/// beforehand, are linear in R: they follow eq. 12 by themselves, and each candidate is read once
/// for all of them. An R is formed every few dozen steps only.
class RelationalTrace {
 public:
  /// memory [B or 1, N, D, D]: R before the first step. slots p [T, B, N] and patterns e [T, B, D]:
  /// the reads of all steps. parameters must outlive the trace.
  RelationalTrace(const RelationalMemoryImpl& parameters, ops::ReadSide side, at::Tensor memory,
                  const at::Tensor& slots, const at::Tensor& patterns);

  /// The read of the coming step (Le et al. 2020, eq. 11), [B, D].
  at::Tensor read();
  /// Writes S of the coming step (eq. 12), which ends it.
  void write(const ops::Associations& candidate);
  /// The memory after the steps so far, formed: [B or 1, N, D, D].
  const at::Tensor& memory();

 private:
  const RelationalMemoryImpl& parameters_;
  ops::ReadSide side_;
  at::Tensor formed_;                       ///< the R formed last
  std::vector<ops::Associations> written_;  ///< since then
  at::Tensor slots_, patterns_;             ///< [B, T, N], [B, T, D]
  at::Tensor reads_;  ///< of the present R, by the coming step and the next ones: [B, steps, D]
  int64_t time_ = 0;
};

}  // namespace tessera
