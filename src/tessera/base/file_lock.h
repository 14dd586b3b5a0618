#pragma once

#include <filesystem>
#include <string_view>

namespace tessera {

/// The right to write to a folder, held by one process at a time: an exclusive flock on a file in
/// it, which is made where it is missing. The operating system takes the lock back when the process
/// ends, however it ends; the file stays. Only who holds the lock may put another file or folder in
/// its place.
class FileLock {
 public:
  /// refusal: what the message says after the path where another process holds the lock. Throws
  /// std::runtime_error with it; SystemError.
  FileLock(const std::filesystem::path& path, std::string_view refusal);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace tessera
