#pragma once

namespace tessera {

/// While one lives, Ctrl-C (SIGINT) and SIGTERM set a flag instead of ending the program, so that a
/// long job can save first; a second signal ends it at once. At most one at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool interrupted();
};

}  // namespace tessera
