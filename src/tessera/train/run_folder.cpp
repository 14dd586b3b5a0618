#include "tessera/train/run_folder.h"

#include "tessera/base/error.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLog = "metrics.jsonl";

/// Whether a run was begun here: it has a lock from its first moment on, or, from versions before
/// the lock, at least a log.
bool holds_run(const fs::path& folder) {
  return fs::exists(folder / "lock") || fs::exists(folder / kLog);
}

/// Where the lock is to be. Makes the folder of a new run.
fs::path lock_path(const fs::path& folder, Start start) {
  if (start == Start::kResume && !fs::exists(folder))
    throw UsageError(
        "{} does not exist, so there is no run to resume; leave out --resume to start one, or name "
        "the run's folder with --out",
        folder.native());
  if (start == Start::kResume && !holds_run(folder))
    throw UsageError(
        "{} holds no run to resume; leave out --resume to start one, or name the run's folder with "
        "--out",
        folder.native());
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) throw SystemError(folder.native(), "create", failure.value());
  return folder / "lock";
}

}  // namespace

RunFolder::RunFolder(fs::path path, Start start)
    : path_(std::move(path)),
      start_(start),
      lock_(lock_path(path_, start),
            "another process is training in this folder; wait until it has ended, or choose "
            "another folder with --out") {
  if (start == Start::kNew && fs::exists(path_ / kLog))
    throw UsageError(
        "{} already holds a run; continue it with --resume, or name another folder with --out",
        path_.native());
}

}  // namespace tessera
