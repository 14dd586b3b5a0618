#pragma once

#include <filesystem>

namespace tessera {

/// The right to write to a store, held by one process at a time. The operating system takes it back
/// when the process ends, however it ends.
class StoreLock {
 public:
  /// Throws std::runtime_error where another process holds it, SystemError.
  explicit StoreLock(const std::filesystem::path& path);
  ~StoreLock();
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace tessera
