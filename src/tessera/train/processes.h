#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

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
};

/// Another process of the training has ended, or did not answer in time.
class ProcessLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The processes of one training, connected through LibTorch's c10d with Gloo. Every process must
/// make the same calls in the same order; each throws ProcessLost where another process is gone.
class Processes {
 public:
  /// Waits for the others.
  explicit Processes(const Rendezvous& rendezvous);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  int64_t rank() const { return rendezvous_.rank; }
  int64_t count() const { return rendezvous_.count; }
  bool leads() const { return rank() == 0; }

  /// Replaces each tensor (equal shapes everywhere) by its sum over the processes, the same bits in
  /// all of them.
  void sum(const std::vector<at::Tensor>& tensors);
  /// Replaces each tensor by the leader's.
  void copy_from_leader(const std::vector<at::Tensor>& tensors);
  /// The leader's numbers, in all processes.
  std::vector<double> from_leader(std::vector<double> numbers);
  /// Throws UsageError in all processes unless `text` is the same everywhere; what: named in the
  /// message.
  void require_equal(const std::string& what, const std::string& text);

 private:
  struct Group;
  Rendezvous rendezvous_;
  std::unique_ptr<Group> group_;
};

}  // namespace tessera
