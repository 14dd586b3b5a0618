#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tessera/train/rendezvous.h"
#include "tessera/train/train_config.h"

namespace tessera {

/// Another process of the training has ended, or did not answer in time.
class ProcessLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The processes of one training, connected through LibTorch's c10d with Gloo. Every process must
/// make the same calls in the same order; each throws ProcessLost where another process is gone.
class Processes {
 public:
  /// Waits for the others. From then on SIGPIPE is ignored: a lost process ends no other one.
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
  /// Starts such a sum of one contiguous tensor in the background, after those that were started
  /// before; get() waits for it. Until then no other exchange may be made.
  std::future<void> start_sum(const at::Tensor& tensor,
                              WirePrecision wire = WirePrecision::kFloat32);
  /// Replaces each tensor (equal shapes everywhere) by that of one process.
  void copy_from(int64_t rank, const std::vector<at::Tensor>& tensors);
  void copy_from_leader(const std::vector<at::Tensor>& tensors) { copy_from(0, tensors); }
  /// Replaces the leader's tensors by those of one process; tensors elsewhere are not read.
  void copy_to_leader(int64_t rank, const std::vector<at::Tensor>& tensors);
  /// The leader's numbers, in all processes.
  std::vector<double> from_leader(std::vector<double> numbers);
  /// Throws UsageError in all processes unless `text` is the same everywhere; what: named in the
  /// message.
  void require_equal(const std::string& what, const std::string& text);

 private:
  void sum_in_bfloat16(const at::Tensor& tensor);

  struct Group;
  Rendezvous rendezvous_;
  std::unique_ptr<Group> group_;
};

/// Neighbouring tensors of one type in buckets of at most 2^20 elements, or a single longer one:
/// what is sent in one piece. Nothing is copied.
std::vector<std::vector<at::Tensor>> in_buckets(const std::vector<at::Tensor>& tensors);

}  // namespace tessera
