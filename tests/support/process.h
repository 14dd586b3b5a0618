#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace tessera::test {

/// More system calls than a process makes: they are only counted.
constexpr int64_t kAllCalls = INT64_MAX;

/// How a program is started.
struct ProcessOptions {
  std::string input = {};                               ///< standard input
  std::map<std::string, std::string> environment = {};  ///< added to this process's own
  std::filesystem::path folder = {};                    ///< current folder; empty: this process's
  uint64_t largest_file = 0;                            ///< bytes it may write to one file; 0: any
  /// Its first thread gets this signal as it makes one system call more than these. Whoever starts
  /// it waits until it has ended.
  std::optional<int64_t> system_calls = {};
  int signal_number = SIGKILL;
};

/// What became of it.
struct Outcome {
  int status = 0;  ///< exit status, or minus the number of the signal that ended it
  std::string out, err;
};

/// A running program. Ended by force with the object that stands for it.
class Process {
 public:
  /// command: the program's path and its arguments. Throws std::system_error.
  explicit Process(const std::vector<std::string>& command, const ProcessOptions& options = {});
  /// A copy of this process, which must not have started threads; `body` gives the exit status.
  explicit Process(const std::function<int()>& body, const ProcessOptions& options = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return process_; }
  void send(int signal_number);
  /// Whether it has a handler for this signal by now.
  bool handles(int signal_number) const;
  bool running();
  /// Waits until this holds or it has ended; whether it is running still.
  bool wait_until(const std::function<bool()>& holds);
  /// Ends it by force after `limit` seconds; then the status is -SIGKILL and err says so.
  Outcome wait(double limit = 300);
  /// What it has written to standard output and to standard error so far.
  std::string output() const;
  std::string errors() const;
  /// Those that ProcessOptions::system_calls counts.
  int64_t system_calls() const { return system_calls_; }

 private:
  void follow(int64_t most, int last_signal);

  TemporaryFolder streams_{folder_in_memory()};
  pid_t process_ = -1;
  bool ended_ = false;
  int state_ = 0;
  int64_t system_calls_ = 0;
};

/// Whether system calls can be counted here; some machines let no process follow another one.
bool calls_are_counted();
constexpr const char* kNotCounted = "this machine does not let a process follow another one";

}  // namespace tessera::test
