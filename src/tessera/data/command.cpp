#include "tessera/data/command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"

namespace tessera {
namespace {

/// A shell that runs a command. Ended by force with the object that stands for it.
class Shell {
 public:
  explicit Shell(std::string command) {
    std::array<int, 2> pipe;
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw SystemError("/bin/sh", "start", errno);
    output_ = pipe[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
    std::string name = "sh", option = "-c";
    char* const words[] = {name.data(), option.data(), command.data(), nullptr};
    const int failure = ::posix_spawn(&process_, "/bin/sh", &actions, nullptr, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(pipe[1]);
    if (failure == 0) return;
    ::close(output_);
    throw SystemError("/bin/sh", "start", failure);
  }
  ~Shell() {
    ::close(output_);
    if (!ended_) end();
  }
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  /// Adds the next bytes of its output to the text; false where there are no more.
  bool read(std::string& text) const {
    std::array<char, 1 << 16> buffer;
    pollfd output{output_, POLLIN, 0};
    do {
      InterruptGuard::stop_if_interrupted("interrupted");
    } while (::poll(&output, 1, /*milliseconds=*/100) <= 0);
    const ssize_t got = ::read(output_, buffer.data(), buffer.size());
    if (got > 0) text.append(buffer.data(), got);
    return got > 0 || (got < 0 && errno == EINTR);
  }

  int end() {
    ::kill(process_, SIGKILL);
    return wait();
  }

  /// Waits until it has ended. Returns CommandOutput::status.
  int wait() {
    int status = -1;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
    ended_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t process_ = -1;
  int output_ = -1;
  bool ended_ = false;
};

}  // namespace

std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

CommandOutput output_of(const std::string& command, const CommandLimits& limits) {
  Shell shell(fmt::format("exec 2>/dev/null; ulimit -S -t {}; ulimit -S -v {}; {}", limits.seconds,
                          limits.memory / 1024, command));
  CommandOutput output;
  while (output.text.size() <= limits.output)
    if (!shell.read(output.text)) {
      output.status = shell.wait();
      return output;
    }
  output.status = shell.end();
  return output;
}

}  // namespace tessera
