#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tessera {

/// Bytes of memory that this machine has, whoever uses them. For a job that would need more, so
/// that it is refused before it starts.
int64_t physical_memory();

/// Bytes of it that this process uses now; 0 where the system does not tell.
int64_t resident_memory();

/// Threads that --threads, train.threads and OMP_NUM_THREADS may ask for; thousands take minutes to
/// start.
constexpr int kMostThreads = 512;

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
