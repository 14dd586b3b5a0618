#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

/// A word of the shell: the text between quotes that nothing in it ends.
std::string shell_quoted(std::string_view text);

/// What a command may use before it is ended by force.
struct CommandLimits {
  uint64_t seconds = 60;            ///< of processor time
  uint64_t memory = 4'000'000'000;  ///< bytes
  uint64_t output = 250'000'000;    ///< bytes
};

/// Standard output of a command of the shell. One that is longer than its limit is cut behind it.
struct CommandOutput {
  std::string text;
  int status = 0;  ///< exit status, or minus the number of the signal that ended it
};

/// Runs a command until it ends, or ends it where it writes more than it may; what it writes to
/// standard error is dropped. Throws SystemError where there is no shell; Interrupted, and ends the
/// command, where a signal has come while an InterruptGuard lives.
CommandOutput output_of(const std::string& command, const CommandLimits& limits = {});

}  // namespace tessera
