#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace tessera {

/// Told how far some work is; 0 of 0 while that is not counted. It may throw Interrupted, which
/// ends the work.
using OnProgress = std::function<void(int64_t done, int64_t of)>;

/// While one lives, Ctrl-C (SIGINT) and SIGTERM set a flag instead of ending the program, so that a
/// long job can save first; a second signal ends the program at once. Of guards that live together,
/// nested or in several threads, the first sets the signals up; after the last they do what they
/// did before.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// Whether a signal has arrived since the first of the guards was made.
  static bool interrupted();
  /// Throws Interrupted with this message where a signal has arrived.
  static void stop_if_interrupted(const std::string& message);
  /// For a program that hears signals in its own way, such as Python: interrupted() asks `heard`,
  /// too, from any thread, guards or none. To be called when the program starts.
  static void also_ask(bool (*heard)());
};

}  // namespace tessera
