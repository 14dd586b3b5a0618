#pragma once

#include <filesystem>

#include "tessera/base/file_lock.h"
#include "tessera/train/trainer.h"

namespace tessera {

/// The folder of one training run. Only the process that has one of these writes there.
class RunFolder {
 public:
  /// kNew: makes the folder where it is missing; throws UsageError where it already holds a run.
  /// kResume: throws UsageError where it holds none. Both throw std::runtime_error where another
  /// process trains there; SystemError. Nothing is written but the file "lock".
  RunFolder(std::filesystem::path path, Start start);

  const std::filesystem::path& path() const { return path_; }
  Start start() const { return start_; }

 private:
  std::filesystem::path path_;
  Start start_;
  FileLock lock_;
};

}  // namespace tessera
