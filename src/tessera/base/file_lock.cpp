#include "tessera/base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "tessera/base/error.h"

namespace tessera {

FileLock::FileLock(const std::filesystem::path& path, std::string_view refusal)
    : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0) throw SystemError(path.native(), "open", errno);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  const int code = errno;
  ::close(descriptor_);
  if (code != EWOULDBLOCK) throw SystemError(path.native(), "lock", code);
  throw std::runtime_error(fmt::format("{}: {}", path.native(), refusal));
}

FileLock::~FileLock() {
  ::close(descriptor_);
}

}  // namespace tessera
