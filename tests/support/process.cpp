#include "tests/support/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <system_error>
#include <thread>

#include "tessera/base/file.h"

namespace tessera::test {
namespace {

void redirect(const std::filesystem::path& path, int flags, int descriptor) {
  const int file = ::open(path.c_str(), flags, 0600);
  if (file < 0 || ::dup2(file, descriptor) < 0) ::_exit(127);
  ::close(file);
}

/// In the child: its streams, environment, folder and limits.
void arrange(const ProcessOptions& options, const TemporaryFolder& streams) {
  redirect(streams / "in", O_RDONLY, STDIN_FILENO);
  redirect(streams / "out", O_WRONLY, STDOUT_FILENO);
  redirect(streams / "err", O_WRONLY, STDERR_FILENO);
  for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
  if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) ::_exit(127);
  if (options.largest_file > 0) {
    const rlimit limit{options.largest_file, options.largest_file};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (!options.system_calls) return;
  if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(127);
  ::raise(SIGSTOP);  // until follow() goes on
}

/// Becomes the program.
int become(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const auto& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments.front(), arguments.data());
  return 127;
}

}  // namespace

Process::Process(const std::vector<std::string>& command, const ProcessOptions& options)
    : Process([&] { return become(command); }, options) {}

Process::Process(const std::function<int()>& body, const ProcessOptions& options) {
  std::ofstream(streams_ / "in", std::ios::binary) << options.input;
  for (const char* name : {"out", "err"}) std::ofstream(streams_ / name);
  process_ = ::fork();
  if (process_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (process_ > 0) {
    if (options.system_calls) follow(*options.system_calls, options.signal_number);
    return;
  }
  arrange(options, streams_);
  const int status = body();
  std::fflush(nullptr);
  ::_exit(status);
}

/// Counts its system calls as a debugger does: it stops as each begins and as each ends.
void Process::follow(int64_t most, int last_signal) {
  constexpr int kCall = SIGTRAP | 0x80;  // what PTRACE_O_TRACESYSGOOD makes of such a stop
  ::waitpid(process_, &state_, 0);       // arrange() stops it
  ::ptrace(PTRACE_SETOPTIONS, process_, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  bool begins = false;
  int signal_number = 0;
  do {
    ::ptrace(PTRACE_SYSCALL, process_, nullptr, signal_number);
    ::waitpid(process_, &state_, 0);
    signal_number = WIFSTOPPED(state_) ? WSTOPSIG(state_) : 0;
    if (signal_number == kCall && (begins = !begins) && system_calls_++ == most) send(last_signal);
    if (signal_number == kCall || signal_number == SIGTRAP) signal_number = 0;  // not its own
  } while (WIFSTOPPED(state_));
  ended_ = true;
}

Process::~Process() {
  if (!running()) return;
  send(SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void Process::send(int signal_number) {
  if (!ended_) ::kill(process_, signal_number);
}

bool Process::handles(int signal_number) const {
  std::ifstream status("/proc/" + std::to_string(process_) + "/status");
  for (std::string name; status >> name;) {
    uint64_t signals = 0;
    if (name == "SigCgt:" && status >> std::hex >> signals)
      return (signals >> (signal_number - 1) & 1) != 0;
  }
  return false;
}

bool Process::running() {
  if (!ended_) ended_ = ::waitpid(process_, &state_, WNOHANG) != 0;
  return !ended_;
}

bool Process::wait_until(const std::function<bool()>& holds) {
  while (running() && !holds()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return running();
}

Outcome Process::wait(double limit) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit);
  std::string note;
  while (running()) {
    if (note.empty() && std::chrono::steady_clock::now() > end) {
      note = "\n(ended by force: still running after " + std::to_string(limit) + " s)\n";
      send(SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const int status = WIFEXITED(state_) ? WEXITSTATUS(state_) : -WTERMSIG(state_);
  return {status, output(), errors() + note};
}

std::string Process::output() const {
  return read_file(streams_ / "out");
}

std::string Process::errors() const {
  return read_file(streams_ / "err");
}

bool calls_are_counted() {
  return Process([] { return 0; }, {.system_calls = kAllCalls}).wait().status == 0;
}

}  // namespace tessera::test
