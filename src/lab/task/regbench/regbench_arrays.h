#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "lab/task/regbench/regbench.h"

namespace tessera::task {

/// Which languages, and which sequences of them: two seeds of RegBench. Sets with the same automata
/// and other sequences are new strings of known languages.
struct RegBenchSet {
  uint64_t automata = 0;
  uint64_t sequences = 0;
};

/// Sequences side by side: what a language model reads, what it is to say, and the truth.
struct RegBenchArrays {
  static constexpr int64_t kNotCounted = -1;  ///< as LanguageModel::loss() reads targets

  int64_t sequences = 0, steps = 0, vocabulary = 0;  ///< B, T, V
  std::vector<int64_t> inputs =
      {};  ///< [B, T]: all tokens of a sequence but the last, then padding
  std::vector<int64_t> targets = {};  ///< [B, T]: the next token; kNotCounted where that is a
                                      ///< separator or padding
  std::vector<float> truth = {};      ///< [B, T, V]: the exact distribution of the next symbol; 0
                                      ///< behind a sequence
};

/// The sequences of these automata. Throws UsageError on no automata.
RegBenchArrays make_regbench_arrays(const RegBench& task, const RegBenchSet& set,
                                    std::span<const int64_t> automata);

/// Sequences first … first + count - 1 of a set with their automata: one JSON object a line, as
/// RegBench::describe() gives it. write: takes each line, with its end. Throws UsageError on a
/// count below 1 or a first below 0.
void write_regbench_jsonl(const RegBench& task, const RegBenchSet& set, int64_t first,
                          int64_t count, const std::function<void(std::string_view)>& write);

/// The same sequences as one batch: tensors `inputs`, `targets` and `truth` of RegBenchArrays.
/// The file appears whole or not at all. Throws as write_regbench_jsonl() does, and SystemError.
void write_regbench_tensors(const RegBench& task, const RegBenchSet& set, int64_t first,
                            int64_t count, const std::filesystem::path& path);

}  // namespace tessera::task
