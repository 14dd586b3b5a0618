// kill -9 at hundreds of random moments: a store is always before or after a document.

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>

#include "tessera/base/config.h"
#include "tessera/base/random.h"
#include "tests/cli/tessera_program.h"

namespace tessera::cli {
namespace {

using Arguments = std::vector<std::string>;
using Clock = std::chrono::steady_clock;

constexpr int kDocuments = 24;
constexpr int kKills = 320;         // of the program's verbs in a copy of this process
constexpr int kProgramKills = 8;    // of the program as a user starts it, which takes a moment
constexpr double kLongestRun = 60;  // seconds; longer, and it hangs

/// The program's verbs without the half second that loading the program takes: this process loads
/// them once, and each run is a copy of it (this process must not have started threads).
class Verbs {
 public:
  Verbs() {
    void* library = ::dlopen(TESSERA_BINARY_FOLDER "/libtessera_cli.so", RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) run_ = reinterpret_cast<Run>(::dlsym(library, "tessera_run"));
    if (run_ == nullptr) throw std::runtime_error(::dlerror());
  }

  /// Starts one command after the other; their standard output goes to `out`.
  pid_t start(const std::vector<Arguments>& commands, const std::filesystem::path& out) const {
    const pid_t process = ::fork();
    if (process != 0) return process;
    ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    ::dup2(::open((out.native() + ".err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600),
           STDERR_FILENO);
    int status = 0;
    for (const auto& command : commands) status = std::max(status, run(command));
    ::_exit(status);
  }

 private:
  using Run = int (*)(int, char**);

  int run(const Arguments& command) const {
    std::vector<char*> words;
    for (const auto& word : command_line(command)) words.push_back(::strdup(word.c_str()));
    const int status = run_(static_cast<int>(words.size()), words.data());
    std::fflush(nullptr);
    return status;
  }

  Run run_ = nullptr;
};

class Kills : public ::testing::Test {
 protected:
  Kills() {
    std::filesystem::create_directory(path("texts"));
    for (int number = 0; number < kDocuments; ++number)
      write_text(path("texts/" + id(number)), "Document " + std::to_string(number * 7919) +
                                                  " says " + std::string(number % 5, 'x') +
                                                  " and ends.\n");
  }

  static std::string id(int number) { return (number < 10 ? "d0" : "d") + std::to_string(number); }
  std::string path(const std::string& name) const { return (folder_ / name).native(); }

  /// The exit status, or minus the signal.
  static int wait(pid_t process) {
    const auto end = Clock::now() + std::chrono::duration<double>(kLongestRun);
    int state = 0;
    while (::waitpid(process, &state, WNOHANG) == 0) {
      if (Clock::now() > end) {
        ADD_FAILURE() << "still running";
        ::kill(process, SIGKILL);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state);
  }

  int run(const std::vector<Arguments>& commands) const {
    return wait(verbs_.start(commands, path("out")));
  }

  /// The documents that the store holds; it must verify.
  std::vector<std::string> documents() const {
    const int status =
        run({{"memo", "verify", path("store")}, {"memo", "documents", path("store"), "--json"}});
    EXPECT_EQ(status, 0) << read_text(path("out.err"));
    const std::string out = read_text(path("out"));
    std::vector<std::string> ids;
    if (status == 0)
      for (const auto& document : config::Json::parse(out.substr(out.find('\n'))))
        ids.push_back(document["id"]);
    return ids;
  }

  /// What brings the store from where it is to its other end: all documents, or none.
  Arguments next_command(const std::vector<std::string>& held, bool forgetting) const {
    Arguments command = {"memo", "memorize", path("store"), path("texts"), "--replace"};
    if (!forgetting) return command;
    command = {"memo", "forget", path("store")};
    command.insert(command.end(), held.begin(), held.end());
    return command;
  }

  /// Of the documents in their order these are the first ones, or the last ones.
  static void expect_run_of(const std::vector<std::string>& held, bool forgetting) {
    const int first = forgetting ? kDocuments - static_cast<int>(held.size()) : 0;
    for (size_t i = 0; i < held.size(); ++i)
      ASSERT_EQ(held[i], id(first + static_cast<int>(i))) << ::testing::PrintToString(held);
  }

  /// Starts what `start` starts, kills it after a random part of `longest`, looks at what is left,
  /// and so on. Returns how many kills came in time.
  int kill_often(int times, std::chrono::duration<double> shortest,
                 std::chrono::duration<double> longest, uint64_t seed,
                 const std::function<pid_t(const Arguments&)>& start) {
    RandomStream random(seed);
    int killed = 0;
    for (int i = 0; i < times && !HasFatalFailure(); ++i) {
      auto held = documents();
      if (held.empty()) forgetting_ = false;
      if (held.size() == kDocuments) forgetting_ = true;
      const pid_t process = start(next_command(held, forgetting_));
      std::this_thread::sleep_for(shortest + random.uniform() * (longest - shortest));
      ::kill(process, SIGKILL);
      killed += wait(process) == -SIGKILL;
      const auto left = documents();
      expect_run_of(left, forgetting_);
      EXPECT_TRUE(forgetting_ ? left.size() <= held.size() : left.size() >= held.size());
      moved_ += left.size() != held.size() && left.size() % kDocuments != 0;
    }
    return killed;
  }

  test::TemporaryFolder folder_{test::folder_in_memory()};
  Verbs verbs_;
  bool forgetting_ = false;
  int moved_ = 0;  // kills that came between two documents of a run
};

TEST_F(Kills, LeaveAStoreBeforeOrAfterADocument) {
  ASSERT_EQ(run({{"memo", "create", path("store"), "--dimension", "64"}}), 0);
  const auto start = Clock::now();
  ASSERT_EQ(run({next_command({}, false)}), 0) << read_text(path("out.err"));
  const std::chrono::duration<double> whole = Clock::now() - start;

  const int killed =
      kill_often(kKills, std::chrono::seconds(0), 1.2 * whole, 1,
                 [&](const Arguments& command) { return verbs_.start({command}, path("out")); });
  EXPECT_GE(killed, kKills / 2) << "most of the kills came too late to tell anything";
  EXPECT_GE(moved_, kKills / 8) << "hardly a kill came between two documents";

  EXPECT_EQ(run({next_command(documents(), false)}), 0) << read_text(path("out.err"));
  EXPECT_EQ(documents().size(), static_cast<size_t>(kDocuments));
  for (const auto& entry : std::filesystem::directory_iterator(path("store")))
    EXPECT_EQ(entry.path().native().find("unfinished"), std::string::npos) << entry.path();
}

TEST_F(Kills, OfTheProgramItself) {
  ASSERT_EQ(run({{"memo", "create", path("store"), "--dimension", "64"}}), 0);
  const auto start = Clock::now();
  ASSERT_EQ(tessera(next_command({}, false)).status, 0);
  const std::chrono::duration<double> whole = Clock::now() - start;
  const int killed =
      kill_often(kProgramKills, 0.5 * whole, 1.1 * whole, 2, [&](const Arguments& command) {
        const pid_t process = ::fork();
        if (process != 0) return process;
        ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
        ::dup2(STDOUT_FILENO, STDERR_FILENO);
        std::vector<char*> words;
        for (const auto& word : command_line(command)) words.push_back(::strdup(word.c_str()));
        words.push_back(nullptr);
        ::execv(words.front(), words.data());
        ::_exit(127);
      });
  EXPECT_GE(killed, 1);
}

}  // namespace
}  // namespace tessera::cli
