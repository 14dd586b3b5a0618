#include "tessera/base/new_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

#include "tessera/base/detail/new_names.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"

namespace tessera {
namespace {

constexpr int64_t kSyncedAlone = 64;  // files; more take longer than the whole file system

void sync(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw SystemError(path.native(), "open", errno);
  const int done = ::fsync(descriptor);
  ::close(descriptor);
  if (done != 0) throw SystemError(path.native(), "write", errno);
}

bool is_free(const std::filesystem::path& path) {
  const auto status = std::filesystem::symlink_status(path);
  return !std::filesystem::exists(status) ||
         (std::filesystem::is_directory(status) && std::filesystem::is_empty(path));
}

/// Throws UsageError where no folder can be renamed to this one, though it be empty. advice: what
/// to do where it is a mount point.
void check_place(const std::filesystem::path& path, std::string_view advice) {
  struct ::statx found = {};
  const bool is_there = ::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, 0, &found) == 0;
  if (is_there && (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
    throw UsageError("{} is a mount point, which no other folder can replace; {}", path.native(),
                     advice);
  if (path.filename() == "." || path.filename() == "..")
    throw UsageError("no new folder can replace {}; name one below it, such as {}", path.native(),
                     (path / "new").native());
}

/// Of a folder that there may be; the folder above it is made.
std::filesystem::path free_path(std::filesystem::path path) {
  if (!path.has_filename()) path = path.parent_path();  // "store/" is "store"
  if (!is_free(path)) throw UsageError("{} already exists; name a new folder", path.native());
  check_place(path, fmt::format("name a folder below it, such as {}", (path / "new").native()));
  create_folders(path.parent_path());
  return path;
}

}  // namespace

NewFolder::NewFolder(const std::filesystem::path& path) : NewFolder(free_path(path), false) {}

NewFolder NewFolder::in_place_of(const std::filesystem::path& path) {
  const std::filesystem::path there = std::filesystem::canonical(path);
  check_place(there, "move what it holds to a folder below it");
  return {there, true};
}

NewFolder::NewFolder(std::filesystem::path path, bool replaces)
    : path_(std::move(path)), replaces_(replaces) {
  const mode_t permissions =
      replaces ? static_cast<mode_t>(std::filesystem::status(path_).permissions()) : by_umask(0777);
  remove_unfinished(path_);
  std::string name;
  do {
    name = unfinished_name(path_);
    if (::mkdtemp(name.data()) == nullptr) {
      const int cause = errno;
      const bool is_refused = cause == EACCES || cause == EPERM || cause == EROFS;
      const bool may_hold = is_refused && !replaces && ::access(path_.c_str(), W_OK) == 0;
      throw SystemError(path_.native(),
                        may_hold ? "put a new folder in its place (name one below it)" : "create",
                        cause);
    }
    descriptor_ = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor_ < 0) {
      const int cause = errno;
      ::rmdir(name.c_str());
      throw SystemError(path_.native(), "create", cause);
    }
  } while (!lock_unfinished(descriptor_));
  ::chmod(name.c_str(), permissions);
  temporary_ = name;
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) std::filesystem::remove_all(temporary_, ignored);
  ::close(descriptor_);
}

void NewFolder::commit() {
  struct ::stat known;
  const bool has_owner = replaces_ && ::stat(path_.c_str(), &known) == 0;
  const auto give_to_owner = [&](const std::filesystem::path& path) {  // as far as one may
    return has_owner && ::lchown(path.c_str(), known.st_uid, known.st_gid) == 0;
  };
  int64_t entries = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(temporary_)) {
    give_to_owner(entry.path());
    if (++entries <= kSyncedAlone) sync(entry.path());
  }
  give_to_owner(temporary_);  // who could change it meanwhile
  if ((entries > kSyncedAlone ? ::syncfs(descriptor_) : ::fsync(descriptor_)) != 0)
    throw SystemError(path_.native(), "write", errno);
  const unsigned manner = replaces_ ? RENAME_EXCHANGE : 0;
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), manner) != 0)
    throw SystemError(path_.native(), replaces_ ? "replace" : "create", errno);
  sync_name(path_);
  std::error_code failure;
  if (replaces_) std::filesystem::remove_all(temporary_, failure);
  if (failure) throw SystemError(temporary_.native(), "remove", failure.value());
  temporary_.clear();
}

}  // namespace tessera
