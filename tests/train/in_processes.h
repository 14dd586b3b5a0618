#pragma once

#include <barrier>
#include <cstdint>
#include <thread>
#include <vector>

#include "tessera/train/processes.h"
#include "tests/support/free_port.h"

namespace tessera::test {

/// Runs body(processes) in `count` of them at once: threads of this one, each with connections of
/// its own. All have found each other before the first body runs: one that ends at once would
/// otherwise be lost while others still look for it.
template <typename Body>
void in_processes(int64_t count, const Body& body) {
  Rendezvous rendezvous{.count = count, .port = free_port()};
  rendezvous.limit = std::chrono::seconds(600);
  std::barrier all_met(count);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < count; ++rank)
    threads.emplace_back([&body, &all_met, rendezvous, rank]() mutable {
      rendezvous.rank = rank;
      Processes processes(rendezvous);
      all_met.arrive_and_wait();
      body(processes);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tessera::test
