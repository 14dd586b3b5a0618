#include "tessera/base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tessera/base/error.h"

namespace tessera {
namespace {

/// Whether the path still leads to the file that was opened there.
bool is_still(const std::filesystem::path& path, int descriptor) {
  struct stat opened {
  }, there{};
  return ::fstat(descriptor, &opened) == 0 && ::stat(path.c_str(), &there) == 0 &&
         opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& path, std::string_view refusal) {
  for (;;) {
    descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor_ < 0) throw SystemError(path.native(), "open", errno);
    const int code = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    // The folder may have been replaced after the file was opened: another lock is there now.
    if (code == 0 && is_still(path, descriptor_)) return;
    ::close(descriptor_);
    if (code == EWOULDBLOCK)
      throw std::runtime_error(fmt::format("{}: {}", path.native(), refusal));
    if (code != 0) throw SystemError(path.native(), "lock", code);
  }
}

FileLock::~FileLock() {
  ::close(descriptor_);
}

}  // namespace tessera
