#pragma once

#include <string>

namespace tessera::serve {

/// Writes a line to standard error, from a thread of its own: a log that cannot be written, or that
/// nobody reads, changes no answer and delays none. What is not printable ASCII is escaped (\x1b).
/// Where 10,000 lines wait, further ones are dropped, and a line says how many. From any thread.
void log_line(const std::string& line);
/// Waits until all lines are written, for a second at most: the program ends without waiting for
/// its threads.
void finish_log();

}  // namespace tessera::serve
