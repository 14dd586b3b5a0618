// Runs one of the measurements in this folder:
//   tessera_bench NAME WORD...
// where NAME is the path of its file without .cpp. Without a name it lists them.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "bench/support/program.h"
#include "program/cli/library_environment.h"
#include "tessera/base/error.h"

namespace tessera::bench {

std::vector<const Program*>& programs() {
  static std::vector<const Program*> all;
  return all;
}

Program::Program(std::string name, std::string usage, void (*run)(const Words&))
    : name_(std::move(name)), usage_(std::move(usage)), run_(run) {
  programs().push_back(this);
}

Program::Program(std::string name, void (*register_benchmarks)())
    : name_(std::move(name)),
      usage_("[--benchmark_filter=REGEX …]"),
      register_benchmarks_(register_benchmarks) {
  programs().push_back(this);
}

namespace {

void check_number(const Words& words, const std::string& usage) {
  size_t least = 0, most = 0;
  std::istringstream stream(usage);
  for (std::string word; stream >> word; ++most) least += word.front() != '[';
  if (usage.ends_with("…")) most = SIZE_MAX;
  check_argument(words.size() >= least && words.size() <= most, "expected {}", usage);
}

void run_benchmarks(const std::string& name, const Words& options) {
  Words words = options;
  words.insert(words.begin(), name);
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data()))
    throw UsageError("expected options of Google Benchmark");
  benchmark::RunSpecifiedBenchmarks();
}

/// Begins anew in the environment that the program gives itself: this process has loaded OpenMP and
/// OpenBLAS before it could set it.
void run_as_the_program_does(char** arguments) {
  if (cli::set_library_environment()) ::execv("/proc/self/exe", arguments);
}

}  // namespace

void Program::run(const Words& words) const {
  if (register_benchmarks_ != nullptr) {
    register_benchmarks_();
    run_benchmarks(name_, words);
  } else {
    check_number(words, usage_);
    run_(words);
  }
}

}  // namespace tessera::bench

int main(int count, char** arguments) try {
  using tessera::bench::programs;
  tessera::bench::run_as_the_program_does(arguments);
  const tessera::bench::Words words(arguments + 1, arguments + count);
  std::ranges::sort(programs(), {}, &tessera::bench::Program::name);
  const auto named = [&](const auto* program) {
    return !words.empty() && program->name() == words[0];
  };
  const auto program = std::ranges::find_if(programs(), named);
  if (program == programs().end()) {
    for (const auto* each : programs())
      fmt::print("tessera_bench {} {}\n", each->name(), each->usage());
    return words.empty() ? 0 : 2;
  }
  (*program)->run({words.begin() + 1, words.end()});
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "tessera_bench: {}\n", error.what());
  return 1;
}
