#pragma once

#include <vector>

#include "tessera/memory/relational/relational_memory.h"

namespace tessera {

/// The relational memory along a sequence: an R that was formed some steps ago, and the factors of
/// what was written since. As eq. 12 is linear, R_t is a weighted sum of them, and reads need no
/// more than that: an R is formed every few steps only, where a longer list would cost more.
class RelationalTrace {
 public:
  /// memory [B or 1, N, D, D]: R before the first step. slots p [T, B, N] and patterns e [T, B, D]:
  /// the reads of all steps, which are known beforehand.
  RelationalTrace(const RelationalMemoryImpl& parameters, ops::ReadSide side, at::Tensor memory,
                  at::Tensor slots, at::Tensor patterns);

  /// The read of the coming step (Le et al. 2020, eq. 11), [B, D].
  at::Tensor read();
  /// Writes S of the coming step (eq. 12), which ends it.
  void write(const ops::Associations& candidate);
  /// The memory after the steps so far, formed: [B or 1, N, D, D].
  const at::Tensor& memory();

 private:
  struct Written {
    ops::Associations candidate;
    at::Tensor weight;  ///< of the candidate in the present memory, [1]
  };

  at::Tensor decay_, gain_;
  bool forgets_;  // R is what was written last
  ops::ReadSide side_;
  at::Tensor formed_;                     ///< the R formed last
  at::Tensor formed_weight_;              ///< its weight in the present memory, [1]
  std::vector<at::Tensor> formed_reads_;  ///< what each step since then reads of it, [B, D]
  std::vector<Written> written_;
  at::Tensor slots_, patterns_;                         // [T, B, N], [T, B, D]
  std::vector<at::Tensor> step_slots_, step_patterns_;  // the same of each step
  int64_t time_ = 0;
};

}  // namespace tessera
