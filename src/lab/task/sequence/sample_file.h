#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "lab/task/sequence/sequence_task.h"

namespace tessera::task {

/// Samples first … first + count - 1 of a task in its own terms, with their ground truth: one JSON
/// object a line, as SequenceTask::describe() gives it. write: takes each line, with its end.
void write_jsonl(const SequenceTask& task, uint64_t seed, int64_t first, int64_t count,
                 const std::function<void(std::string_view)>& write);

/// The same samples as a model sees them, as one batch: tensors `inputs`, `targets` and `answers`
/// as in TaskBatch, each sample of its own size, with the task's shape: a file for FileTask. It
/// appears whole or not at all. Throws SystemError.
void write_tensors(const SequenceTask& task, uint64_t seed, int64_t first, int64_t count,
                   const std::filesystem::path& path);

}  // namespace tessera::task
