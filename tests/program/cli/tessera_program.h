#pragma once

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tessera/base/file.h"
#include "tests/support/folders.h"
#include "tests/support/process.h"

namespace tessera::cli {

using test::Outcome;
using test::Process;
using test::ProcessOptions;

using Arguments = std::vector<std::string>;

/// The words of one and then of the other.
inline Arguments joined(Arguments words, const Arguments& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// What the verbs of the program do, in this process. It loads them with its first call.
inline int run_verbs(const Arguments& command) {
  using Run = int (*)(int, char**);
  static const Run run = [] {
    const auto path = test::build_folder() / "libtessera_model_cli.so";
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* function = library != nullptr ? ::dlsym(library, "tessera_run") : nullptr;
    if (function == nullptr) throw std::runtime_error(::dlerror());
    return reinterpret_cast<Run>(function);
  }();
  Arguments words = command;
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  if (arguments.empty()) return 0;  // loads them
  return run(static_cast<int>(arguments.size()), arguments.data());
}

/// One thread, so that equal commands give equal bits.
inline Arguments command_line(const Arguments& arguments) {
  return joined({test::build_folder() / "tessera", "--threads", "1"}, arguments);
}

/// The program as a copy of this process, which has loaded it: loading takes a fifth of a second,
/// nearly all of it LibTorch's.
inline Process start_line(const Arguments& command, const ProcessOptions& options = {}) {
  run_verbs({});
  std::fflush(nullptr);  // what this process has not printed yet is not the copy's to print
  return Process(
      [command] {
        ::signal(SIGXFSZ, SIG_IGN);  // as the program has it
        return run_verbs(command);
      },
      options);
}
inline Process start(const Arguments& arguments, const ProcessOptions& options = {}) {
  return start_line(command_line(arguments), options);
}

inline Outcome tessera(const Arguments& arguments, const ProcessOptions& options = {}) {
  return start(arguments, options).wait();
}

/// What a command prints, which must succeed.
inline std::string done(const Arguments& arguments, const ProcessOptions& options = {}) {
  const Outcome outcome = tessera(arguments, options);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return outcome.out;
}

/// The same of the executable, which loads its libraries, for the tests of how it does so.
inline Outcome executable(const Arguments& arguments, ProcessOptions options = {}) {
  options.environment.insert({"TESSERA_KEEP_BLAS_CORE", "1"});
  return Process(command_line(arguments), options).wait();
}

inline void write_text(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

/// Sentences of a few words in an order that a small model learns something of.
inline std::string small_text(int sentences) {
  const char* subjects[] = {"the cat", "a dog", "the old man", "my sister", "one small bird"};
  const char* verbs[] = {"sees", "likes"};
  const char* objects[] = {"the river", "a red stone", "the long road", "three apples", "you"};
  std::string text;
  for (int i = 0; i < sentences; ++i)
    text += std::string(subjects[i * 7 % 5]) + ' ' + verbs[i % 2] + ' ' +
            objects[(i * 3 + i / 5) % 5] + ".\n";
  return text;
}

/// A training of a moment: a byte-level model of one small block.
inline std::string small_training(const std::filesystem::path& text) {
  return "[data]\ntext = \"" + text.native() +
         "\"\ntokenizer = \"byte\"\n"
         "[model]\nlayers = 1\nheads = 2\nchannels = 16\nwindow = 32\n"
         "[train]\nsteps = 30\nbatch = 4\nwarmup_steps = 5\nlearning_rate = 0.02\n"
         "evaluate_every = 10\nevaluate_batches = 2\ncheckpoint_every = 5\n";
}

/// A test with a folder that holds text.txt and train.toml.
class Workplace : public ::testing::Test {
 protected:
  Workplace() {
    write_text(folder_ / "text.txt", small_text(400));
    write_text(folder_ / "train.toml", small_training(path("text.txt")));
  }

  std::string path(const std::string& name) const { return (folder_ / name).native(); }

  /// Trains train.toml into `out`, with settings changed.
  Outcome train(const std::string& out, const Arguments& settings = {},
                const Arguments& more = {}) const {
    return tessera(train_arguments(out, settings, more));
  }
  Arguments train_arguments(const std::string& out, const Arguments& settings = {},
                            const Arguments& more = {}) const {
    Arguments arguments = {"train", path("train.toml"), "--out", path(out)};
    if (!settings.empty()) arguments = joined(joined(arguments, {"--set"}), settings);
    return joined(arguments, more);
  }
  /// The loss of each step that a run has logged.
  std::vector<double> losses(const std::string& run) const {
    std::vector<double> losses;
    std::istringstream log(read_file(path(run + "/metrics.jsonl")));
    for (std::string line; std::getline(log, line);)
      if (const auto entry = nlohmann::json::parse(line); entry["kind"] == "step")
        losses.push_back(entry["loss"]);
    return losses;
  }

  /// Says that a command failed as it should: with this status, nothing on stdout, and a message
  /// that names what was wrong.
  static void expect_refused(const Outcome& outcome, int status, const std::string& message) {
    EXPECT_EQ(outcome.status, status) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, ::testing::HasSubstr(message));
  }

  /// A command that must fail, and what its message says.
  struct Refusal {
    Arguments arguments;
    std::string message;
  };
  static void expect_all_refused(const std::vector<Refusal>& refusals, int status) {
    for (const auto& [arguments, message] : refusals)
      expect_refused(tessera(arguments), status, message);
  }

  test::TemporaryFolder folder_;
};

/// A model directory trained once for all tests that only read one.
inline std::string trained_model() {
  static const test::TemporaryFolder folder;
  static const bool trained = [] {
    write_text(folder / "text.txt", small_text(400));
    write_text(folder / "train.toml", small_training(folder / "text.txt"));
    const Outcome run =
        tessera({"train", (folder / "train.toml").native(), "--out", (folder / "run").native(),
                 "--set", "train.steps=120", "--set", "model.parameterisation=paper"});
    EXPECT_EQ(run.status, 0) << run.err;
    return run.status == 0;
  }();
  EXPECT_TRUE(trained);
  return (folder / "run/model").native();
}

}  // namespace tessera::cli
