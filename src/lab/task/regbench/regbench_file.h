#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "lab/task/regbench/regbench_batch.h"

namespace tessera::task {

/// Sequences first … first + count - 1 of a set with their automata: one JSON object a line, as
/// RegBench::describe() gives it. write: takes each line, with its end. Throws UsageError on a
/// count below 1 or a first below 0.
void write_regbench_jsonl(const RegBench& task, const RegBenchSet& set, int64_t first,
                          int64_t count, const std::function<void(std::string_view)>& write);

/// The same sequences as one batch: tensors `inputs`, `targets` and `truth` as in RegBenchBatch.
/// The file appears whole or not at all. Throws as write_regbench_jsonl() does, and SystemError.
void write_regbench_tensors(const RegBench& task, const RegBenchSet& set, int64_t first,
                            int64_t count, const std::filesystem::path& path);

}  // namespace tessera::task
