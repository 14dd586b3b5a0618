#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tessera {

/// Which of the processes that a launcher has started this one is.
struct LaunchedProcess {
  int64_t rank = 0;   ///< from 0
  int64_t count = 1;  ///< of processes

  /// From RANK and WORLD_SIZE as torchrun sets them, or the variables of OpenMPI and Slurm. Nothing
  /// where none says how many processes there are. Throws UsageError, naming the variable, on
  /// values that make no sense.
  static std::optional<LaunchedProcess> from_environment();
};

/// The first of these environment variables that is set, as a number of [least, most]. Throws
/// UsageError where it is something else.
std::optional<int64_t> number_from_environment(const std::vector<const char*>& names, int64_t least,
                                               int64_t most);

}  // namespace tessera
