#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tessera {

/// Which of several processes this one is, and where they meet.
struct Rendezvous {
  int64_t rank = 0;   ///< from 0, the leader
  int64_t count = 1;  ///< of processes
  std::string host = "127.0.0.1";
  uint16_t port = 29500;                ///< where the leader listens
  std::chrono::seconds limit{30 * 60};  ///< for the others to come, and for each exchange
  int64_t count_here = 1;               ///< processes on this machine, which share its cores
  bool hosted = false;                  ///< whether the launcher listens there, as torchrun does
  int64_t attempt = 0;                  ///< restarts by the launcher so far

  /// As torchrun sets it: RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT; rank and
  /// counts also from the variables of OpenMPI and Slurm; TESSERA_PROCESS_SECONDS is the limit. One
  /// process where none is set. Throws UsageError, naming the variable, on values that make no
  /// sense.
  static Rendezvous from_environment();

  /// The address of this machine from which `host` is reached, and at which the others reach this
  /// process: "10.0.0.2". Throws std::runtime_error where the name is not known or there is no way.
  std::string own_address() const;
};

}  // namespace tessera
