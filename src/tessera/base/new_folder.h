#pragma once

#include <filesystem>

namespace tessera {

/// A folder that is created as a whole or not at all: it is filled under a temporary name beside
/// its own; commit() syncs and renames it. If it is destroyed without commit(), it is removed; what
/// a killed process left, by the next that makes a folder of this name.
class NewFolder {
 public:
  /// Throws UsageError if the path already exists and is not an empty folder, or is one that cannot
  /// be replaced (a mount point); SystemError.
  explicit NewFolder(const std::filesystem::path& path);
  /// For a folder that commit() puts in the place of this one, in one step, with its permissions
  /// and its owner; the old one is removed. Throws UsageError on a mount point; SystemError.
  static NewFolder in_place_of(const std::filesystem::path& path);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// Where to put the files until commit().
  const std::filesystem::path& path() const { return temporary_; }
  void commit();

 private:
  NewFolder(std::filesystem::path path, bool replaces);

  std::filesystem::path path_, temporary_;
  bool replaces_;
  int descriptor_;  // of the new folder, locked
};

}  // namespace tessera
