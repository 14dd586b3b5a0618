#pragma once

#include <string>
#include <vector>

namespace tessera::bench {

using Words = std::vector<std::string>;

/// A measurement, declared at the end of its file: `build/release/tessera_bench NAME WORD...` runs
/// it.
class Program {
 public:
  /// @param name   bench/<name>.cpp
  /// @param usage  the words that it takes: "TEXTS TOKENS [ROUNDS]"; "TEXTS…" are one or more
  /// @param run    gets as many words as `usage` allows
  Program(std::string name, std::string usage, void (*run)(const Words&));
  /// @param register_benchmarks  of Google Benchmark, which runs them and whose options are the
  /// words
  Program(std::string name, void (*register_benchmarks)());

  const std::string& name() const { return name_; }
  const std::string& usage() const { return usage_; }
  /// @throws UsageError where `words` are not what usage() says
  void run(const Words& words) const;

 private:
  std::string name_, usage_;
  void (*run_)(const Words&) = nullptr;
  void (*register_benchmarks_)() = nullptr;
};

/// Those of all files, in no order.
std::vector<const Program*>& programs();

}  // namespace tessera::bench
