#pragma once

#include <filesystem>

#include "tessera/base/file.h"

namespace tessera {

class Learner;

/// Whether a run begins in an empty folder, or goes on where the folder's last checkpoint is.
enum class Start { kNew, kResume };

/// The folder of one training run. Only the process that has one of these writes there.
class RunFolder {
 public:
  /// kNew: makes the folder where it is missing; throws UsageError where it already holds a run.
  /// kResume: throws UsageError where it holds none. Both throw UsageError where the folder is a
  /// model's or a store's, std::runtime_error where another process trains there; SystemError.
  /// Nothing is written but the file "lock".
  RunFolder(std::filesystem::path path, Start start);

  const std::filesystem::path& path() const { return path_; }
  Start start() const { return start_; }

  /// Writes config.toml and, for a run that begins, manifest.json. A run that continues may change
  /// how long it trains and what ends it early, its device and threads, checkpoints, samples and
  /// the files of its metrics, and nothing else: UsageError, with the key and both values, before
  /// anything is written; likewise where it would end before the updates that it has made.
  /// processes: how many the run begins with, `world_size` in the manifest. Returns train.steps as
  /// it was before.
  int64_t write_configuration(const Learner& learner, int64_t processes) const;

 private:
  std::filesystem::path path_;
  Start start_;
  FileLock lock_;
};

}  // namespace tessera
