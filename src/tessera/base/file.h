#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

/// These permissions of a new file or folder, less those that the process's umask takes, as it was
/// when this was first asked.
mode_t by_umask(mode_t permissions);

/// A file that appears whole or not at all: bytes go to a temporary name beside `path`; commit()
/// syncs them and renames. Destroyed without commit(), it leaves no trace but the folder, which is
/// made where it is missing. It is for whom the file before it was for, a new one for whom the
/// umask says. Every member throws SystemError (disk full, no permission, a device of this name).
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Replaces bytes already written, at `offset` from the start.
  void overwrite(uint64_t offset, std::string_view text);
  void commit();

 private:
  std::filesystem::path path_;
  std::string temporary_;
  int descriptor_ = -1;
};

/// Throws SystemError where AtomicFile does for this path: to be called before the work whose
/// result it is to hold. Leaves no trace but the folder, and removes what killed processes left.
void check_writable(const std::filesystem::path& path);

/// Writes all of the bytes to an open file. path: names it in the SystemError (disk full).
void write_all(int descriptor, std::string_view bytes, const std::filesystem::path& path);

/// Removes what killed processes left of this file or folder beside it (AtomicFile, NewFolder).
/// What is being written stays.
void remove_unfinished(const std::filesystem::path& path);

/// The same of all files in a folder.
void remove_unfinished_files(const std::filesystem::path& folder);

/// Makes a folder, and those above it, where they are missing. An empty path is the working folder.
/// Throws SystemError.
void create_folders(const std::filesystem::path& folder);

/// Replaces the file's content atomically; creates the folder where it is missing.
void write_file(const std::filesystem::path& path, std::string_view content);

/// Writes a new file in a NewFolder, whose commit() makes it durable with all others; creates the
/// folder where it is missing. Throws SystemError.
void write_new_file(const std::filesystem::path& path, std::string_view content);

/// Makes an empty file where there is none; one that is there, or that another process makes at the
/// same time, stays as it is. Throws SystemError.
void create_file(const std::filesystem::path& path);

/// Puts the file `by` in the place of `path`, atomically. Throws SystemError.
void replace_file(const std::filesystem::path& path, const std::filesystem::path& by);

/// Whether there is anything of this name. Throws SystemError where that cannot be told (no
/// permission, a loop of links).
bool is_there(const std::filesystem::path& path);

/// Bytes of a file; 0 where there is none.
int64_t file_bytes(const std::filesystem::path& path);

/// The whole content of a regular file of at most `limit` bytes. Throws SystemError or, above the
/// limit, DataError.
std::string read_file(const std::filesystem::path& path, uint64_t limit = uint64_t{1} << 32);

/// A file mapped into memory. Empty files map to an empty span.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);

  std::string_view text() const { return {data_.get(), data_.get_deleter().size}; }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(text())); }

 private:
  struct Unmap {
    size_t size;
    void operator()(char* data) const;
  };
  std::unique_ptr<char, Unmap> data_;
};

/// The right to write to a folder, held by one process at a time: an exclusive flock on a file in
/// it, which is made where it is missing. The operating system takes the lock back when the process
/// ends, however it ends; the file stays. Only who holds the lock may put another file or folder in
/// its place.
class FileLock {
 public:
  /// refusal: what the message says after the path where another process holds the lock; then
  /// follows which one, where the system says it. Throws std::runtime_error with it; SystemError.
  FileLock(std::filesystem::path path, std::string_view refusal);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  /// Whether the path still leads to the file that is locked. It does not where the folder was
  /// moved or replaced, or where the path is relative and the process has another working folder
  /// now.
  bool is_in_place() const;

 private:
  std::filesystem::path path_;
  int descriptor_;
  int process_;  // that locked it: a fork has the descriptor, too
};

}  // namespace tessera
