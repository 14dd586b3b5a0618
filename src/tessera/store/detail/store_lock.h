#pragma once

#include <filesystem>

#include "tessera/base/file.h"

namespace tessera::store {

/// The right to write to a store, held by one process at a time.
class StoreLock : public FileLock {
 public:
  /// Throws as FileLock does.
  explicit StoreLock(const std::filesystem::path& store)
      : FileLock(store / "lock",
                 "another process is writing to this store; wait until it has ended") {}
};

}  // namespace tessera::store
