#pragma once

#include <filesystem>

namespace tessera {

/// A folder that appears whole or not at all: it is filled under a temporary name beside its own;
/// commit() syncs it and renames. Destroyed without commit(), it leaves no trace.
class NewFolder {
 public:
  /// Throws UsageError where there is something of this name already (an empty folder is nothing),
  /// SystemError.
  explicit NewFolder(std::filesystem::path path);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// Where to put the files until commit().
  const std::filesystem::path& path() const { return temporary_; }
  void commit();

 private:
  std::filesystem::path path_, temporary_;
};

}  // namespace tessera
