#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/program/cli/tessera_program.h"
#include "tests/program/serve/raw_client.h"

namespace tessera::cli {

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
    const std::string before = "http://127.0.0.1:";
    std::string printed;
    process_->wait_until([&] {
      printed = process_->output();
      return printed.find(before) != std::string::npos && printed.back() == '\n';
    });
    const size_t address = printed.find(before);
    if (address != std::string::npos) port_ = std::stoi(printed.substr(address + before.size()));
  }

  int port() const { return port_; }
  serve::Answer ask(const std::string& method, const std::string& path,
                    const std::string& body = "") const {
    return serve::RawClient(port_, serve::asking(method, path, body)).answer();
  }
  /// CPU seconds of the process so far.
  double cpu_seconds() const {
    std::string text = read_text(fmt::format("/proc/{}/stat", process_->id()));
    std::istringstream fields(text.substr(text.rfind(')') + 1));
    std::string skipped;
    for (int i = 3; i < 14; ++i) fields >> skipped;
    double user = 0, system = 0;
    fields >> user >> system;
    return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
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
