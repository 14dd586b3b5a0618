#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <string>

#include "tests/program/cli/tessera_program.h"
#include "tests/program/serve/raw_client.h"

namespace tessera::cli {

/// The port at which a server says that it serves, once it does; 0 where it ended before.
inline int served_port(Process& server) {
  const std::string before = "http://127.0.0.1:";
  std::string printed;
  server.wait_until([&] {
    printed = server.output();
    return printed.find(before) != std::string::npos && printed.ends_with('\n');
  });
  const size_t address = printed.find(before);
  return address == std::string::npos ? 0 : std::stoi(printed.substr(address + before.size()));
}

/// A server of one store, or of none where it is empty, in a copy of this process; `prepare` runs
/// in it first.
class ServedProcess {
 public:
  ServedProcess(
      const std::string& store, const Arguments& more,
      const std::function<void()>& prepare = [] {}) {
    Arguments arguments = {"serve", "--port", "0"};
    if (!store.empty()) arguments.insert(arguments.end(), {"--store", "s=" + store});
    run_verbs({});
    std::fflush(nullptr);
    process_ = std::make_unique<Process>(
        [prepare, command = command_line(joined(arguments, more))] {
          prepare();
          return run_verbs(command);
        },
        ProcessOptions{});
    port_ = served_port(*process_);
  }

  int port() const { return port_; }
  serve::Answer ask(const std::string& method, const std::string& path,
                    const std::string& body = "") const {
    return serve::RawClient(port_, serve::asking(method, path, body)).answer();
  }
  /// CPU seconds of the process so far.
  double cpu_seconds() const {
    clockid_t clock = {};
    timespec spent = {};
    ::clock_getcpuclockid(process_->id(), &clock);
    ::clock_gettime(clock, &spent);
    return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
  }
  void kill() {
    process_->send(SIGKILL);
    process_->wait();
  }
  /// Stops it as Ctrl-C does.
  Outcome stop() {
    process_->send(SIGINT);
    return process_->wait();
  }
  /// The lines on standard error so far.
  std::string log() const { return process_->errors(); }

 private:
  std::unique_ptr<Process> process_;
  int port_ = 0;
};

}  // namespace tessera::cli
