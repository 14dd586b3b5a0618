#pragma once

#include <cstdint>
#include <thread>
#include <vector>

#include "tessera/train/processes.h"
#include "tests/support/free_port.h"

namespace tessera::test {

/// Runs body(processes) in `count` of them at once: threads of this one, each with connections of
/// its own.
template <typename Body>
void in_processes(int64_t count, const Body& body) {
  Rendezvous rendezvous{.count = count, .port = free_port()};
  rendezvous.limit = std::chrono::seconds(20);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < count; ++rank)
    threads.emplace_back([&body, rendezvous, rank]() mutable {
      rendezvous.rank = rank;
      Processes processes(rendezvous);
      body(processes);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tessera::test
