#pragma once

#include <filesystem>

namespace tessera::store {

/// A folder that is created as a whole or not at all: it is filled under a temporary name beside
/// its own; commit() syncs and renames it. If it is destroyed without commit(), it is removed.
class NewFolder {
 public:
  /// Throws UsageError if the path already exists and is not an empty folder; SystemError.
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

}  // namespace tessera::store
