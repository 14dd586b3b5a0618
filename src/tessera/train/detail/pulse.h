#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "tessera/train/rendezvous.h"

namespace tessera {

/// Tells the other processes twice a second, through the store where they met, that this one runs,
/// so that the one that is lost can be named.
class Pulse {
 public:
  /// store: a connection of its own.
  Pulse(c10::intrusive_ptr<c10d::Store> store, const Rendezvous& rendezvous);
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  /// The ranks of the others whose pulse has stopped, after two seconds of listening; the leader's
  /// where the store has ended with it. All processes that ask hear of the same ones.
  std::vector<int64_t> stopped();

 private:
  void beat();
  std::vector<std::string> beats();

  c10::intrusive_ptr<c10d::Store> store_;
  int64_t rank_, count_;
  bool leader_hosts_;  // the store
  std::mutex mutex_;
  std::condition_variable end_;
  bool ended_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace tessera
