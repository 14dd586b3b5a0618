#include "tessera/base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "tessera/base/detail/new_names.h"
#include "tessera/base/error.h"
#include "tessera/base/utf8.h"

namespace tessera {
namespace {

constexpr std::string_view kUnfinished = ".unfinished-", kRandom = "XXXXXX";

/// Closes a descriptor when it goes out of scope.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

/// The system would take a path with a zero byte for the part before it.
void check_path(const std::filesystem::path& path) {
  check_argument(path.native().find('\0') == std::string::npos, "the path '{}' has a zero byte",
                 utf8::printable_line(path.native()));
}

Descriptor open_for_reading(const std::filesystem::path& path) {
  check_path(path);
  // O_NONBLOCK: a pipe in the place of a file is refused and not waited for.
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.value < 0) throw SystemError(path.native(), "open", errno);
  return file;
}

/// What open() with O_NOFOLLOW has failed with.
SystemError not_opened(const std::filesystem::path& path, std::string_view action) {
  const int cause = errno;
  std::error_code failure;
  if (cause != ELOOP || !std::filesystem::is_symlink(path, failure))
    return SystemError(path.native(), action, cause);
  return SystemError(fmt::format("{}: is a link, expected a file; remove it", path.native()),
                     ELOOP);
}

size_t regular_size(int descriptor, const std::filesystem::path& path) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0) throw SystemError(path.native(), "read", errno);
  if (!S_ISREG(status.st_mode)) throw DataError(path.native(), "is not a regular file");
  return status.st_size;
}

/// A rename would put a file in the place of a device or a pipe, too, for all who use it; also in
/// that of /dev/stdout, a link, whatever standard output is and even if it is closed.
void check_replaceable(const std::filesystem::path& path) {
  check_path(path);
  std::error_code no_link;
  const bool is_descriptor =
      std::filesystem::read_symlink(path, no_link).native().starts_with("/proc/");
  struct stat found;
  const bool exists = ::stat(path.c_str(), &found) == 0;
  if (!is_descriptor && (!exists || S_ISREG(found.st_mode))) return;
  const bool is_folder = exists && S_ISDIR(found.st_mode);
  throw SystemError(fmt::format("{}: is {}, which cannot be replaced; name a file", path.native(),
                                is_folder ? "a folder" : "not a regular file"),
                    is_folder ? EISDIR : 0);
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

/// Removes the files and folders that killed processes left in a folder and that were to get this
/// name; without a name the files that were to get any.
void remove_left(const std::filesystem::path& folder, const std::optional<std::string>& name) {
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    const std::string found = entry.path().filename().native();
    const size_t mark = found.rfind(kUnfinished);
    if (mark == std::string::npos || mark + kUnfinished.size() + kRandom.size() != found.size() ||
        (name && found.substr(0, mark) != *name))
      continue;
    const Descriptor left{::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (left.value < 0 || ::flock(left.value, LOCK_EX | LOCK_NB) != 0) continue;
    std::error_code stays;
    if (name)
      std::filesystem::remove_all(entry, stays);
    else
      std::filesystem::remove(entry, stays);
  }
}

/// " (process 1234)" that has this file locked; "" where the system does not say.
std::string holder_of_lock(const std::filesystem::path& path) {
  struct stat file = {};
  ::stat(path.c_str(), &file);
  const std::string name =
      fmt::format("{:02x}:{:02x}:{}", major(file.st_dev), minor(file.st_dev), file.st_ino);
  std::ifstream locks("/proc/locks");  // proc_locks(5): "1: FLOCK ADVISORY WRITE 1234 fe:00:567 …"
  std::string number, kind, manner, access, process, locked;
  for (std::string line; std::getline(locks, line);)
    if (std::istringstream(line) >> number >> kind >> manner >> access >> process >> locked &&
        kind == "FLOCK" && locked == name)
      return fmt::format(" (process {})", process);
  return "";
}

/// Calls write(what is left of the bytes) until all are written.
template <typename Write>
void write_each(std::string_view bytes, const std::filesystem::path& path, const Write& write) {
  while (!bytes.empty()) {
    const ssize_t written = write(bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw SystemError(path.native(), "write", errno);
    bytes.remove_prefix(written);
  }
}

}  // namespace

mode_t by_umask(mode_t permissions) {
  static const mode_t mask = [] {  // which can only be read by setting it
    const mode_t found = ::umask(077);
    ::umask(found);
    return found;
  }();
  return permissions & ~mask;
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  check_replaceable(path_);
  create_folders(path_.parent_path());
  do {
    temporary_ = unfinished_name(path_);
    descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
    if (descriptor_ < 0) throw SystemError(path_.native(), "create", errno);
  } while (!lock_unfinished(descriptor_));
  struct ::stat known;
  if (::stat(path_.c_str(), &known) != 0) {
    ::fchmod(descriptor_, by_umask(0666));
    return;
  }
  // As the file that it replaces: root may work on what a service reads.
  const bool same_owner = ::fchown(descriptor_, known.st_uid, known.st_gid) == 0;
  ::fchmod(descriptor_, same_owner ? known.st_mode & 0777 : by_umask(known.st_mode & 0707));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void AtomicFile::write(std::string_view text) {
  write_all(descriptor_, text, path_);
}

void check_writable(const std::filesystem::path& path) {
  remove_unfinished(path);
  const AtomicFile file(path);
}

void write_all(int descriptor, std::string_view bytes, const std::filesystem::path& path) {
  write_each(bytes, path,
             [&](std::string_view left) { return ::write(descriptor, left.data(), left.size()); });
}

void AtomicFile::overwrite(uint64_t offset, std::string_view text) {
  write_each(text, path_, [&](std::string_view left) {
    const size_t done = text.size() - left.size();
    return ::pwrite(descriptor_, left.data(), left.size(), static_cast<off_t>(offset + done));
  });
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) throw SystemError(path_.native(), "write", errno);
  replace_file(path_, temporary_);
  ::close(std::exchange(descriptor_, -1));
}

void create_file(const std::filesystem::path& path) {
  const Descriptor file{
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0666)};
  if (file.value < 0) throw not_opened(path, "create");
  sync_name(path);
}

void replace_file(const std::filesystem::path& path, const std::filesystem::path& by) {
  if (::rename(by.c_str(), path.c_str()) != 0) throw SystemError(path.native(), "replace", errno);
  sync_name(path);
}

std::string unfinished_name(const std::filesystem::path& path) {
  return fmt::format("{}{}{}", path.native(), kUnfinished, kRandom);
}

void sync_name(const std::filesystem::path& path) {
  const Descriptor folder{::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.value >= 0) ::fsync(folder.value);
}

bool lock_unfinished(int descriptor) {
  const bool locked = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  struct stat status;
  const bool taken = (!locked && errno == EWOULDBLOCK) ||
                     (::fstat(descriptor, &status) == 0 && status.st_nlink == 0);
  if (taken) ::close(descriptor);
  return !taken;  // where there are no locks, nobody else can have taken it
}

void remove_unfinished(const std::filesystem::path& path) {
  remove_left(folder_of(path), path.filename().native());
}

void remove_unfinished_files(const std::filesystem::path& folder) {
  remove_left(folder, std::nullopt);
}

void create_folders(const std::filesystem::path& folder) {
  check_path(folder);
  if (folder.empty()) return;
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) throw SystemError(folder.native(), "create", failure.value());
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

void write_new_file(const std::filesystem::path& path, std::string_view content) {
  check_path(path);
  create_folders(path.parent_path());
  const Descriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)};
  if (file.value < 0) throw SystemError(path.native(), "create", errno);
  write_all(file.value, content, path);
}

bool is_there(const std::filesystem::path& path) {
  check_path(path);
  std::error_code failure;
  const auto status = std::filesystem::status(path, failure);
  if (status.type() == std::filesystem::file_type::none)
    throw SystemError(path.native(), "open", failure.value());
  return std::filesystem::exists(status);
}

int64_t file_bytes(const std::filesystem::path& path) {
  std::error_code missing;
  const auto bytes = std::filesystem::file_size(path, missing);
  return missing ? 0 : bytes;
}

std::string read_file(const std::filesystem::path& path, uint64_t limit) {
  const Descriptor file = open_for_reading(path);
  const size_t size = regular_size(file.value, path);
  if (size > limit)
    throw DataError(path.native(), "has {} bytes, more than the {} accepted", size, limit);
  std::string content(size, '\0');
  size_t filled = 0;
  while (filled < size) {
    const ssize_t got = ::read(file.value, content.data() + filled, size - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw SystemError(path.native(), "read", errno);
    if (got == 0) break;
    filled += got;
  }
  content.resize(filled);
  return content;
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const Descriptor file = open_for_reading(path);
  const size_t size = regular_size(file.value, path);
  if (size == 0) return;
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
  if (data == MAP_FAILED) throw SystemError(path.native(), "map", errno);
  data_ = {static_cast<char*>(data), Unmap{size}};
}

void MappedFile::Unmap::operator()(char* data) const {
  ::munmap(data, size);
}

FileLock::FileLock(std::filesystem::path path, std::string_view refusal)
    : path_(std::move(path)), process_(::getpid()) {
  for (;;) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (descriptor_ < 0) throw not_opened(path_, "open");
    const int code = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    // The folder may have been replaced after the file was opened: another lock is there now.
    if (code == 0 && is_in_place()) return;
    ::close(descriptor_);
    if (code == EWOULDBLOCK)
      throw std::runtime_error(
          fmt::format("{}: {}{}", path_.native(), refusal, holder_of_lock(path_)));
    if (code != 0) throw SystemError(path_.native(), "lock", code);
  }
}

FileLock::~FileLock() {
  if (process_ == ::getpid()) ::flock(descriptor_, LOCK_UN);  // also where a fork has it open
  ::close(descriptor_);
}

bool FileLock::is_in_place() const {
  struct stat locked = {}, there = {};
  return ::fstat(descriptor_, &locked) == 0 && ::stat(path_.c_str(), &there) == 0 &&
         locked.st_dev == there.st_dev && locked.st_ino == there.st_ino;
}

}  // namespace tessera
