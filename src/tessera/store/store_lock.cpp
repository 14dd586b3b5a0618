#include "tessera/store/store_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "tessera/base/error.h"

namespace tessera {

StoreLock::StoreLock(const std::filesystem::path& path)
    : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0) throw SystemError(path.native(), "open", errno);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  const int code = errno;
  ::close(descriptor_);
  if (code != EWOULDBLOCK) throw SystemError(path.native(), "lock", code);
  throw std::runtime_error(path.native() +
                           ": another process is writing to this store; wait until it has ended");
}

StoreLock::~StoreLock() {
  ::close(descriptor_);
}

}  // namespace tessera
