#include "tessera/train/run_folder.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/tensor/manifest.h"
#include "tessera/train/checkpoint.h"
#include "tessera/train/learner.h"
#include "tessera/train/metrics_log.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using config::Json;

/// Whether a run was begun here: it has a lock from its first moment on, or, from versions before
/// the lock, at least a log.
bool holds_run(const fs::path& folder) {
  return fs::exists(folder / "lock") || fs::exists(folder / MetricsLog::kFile);
}

/// Where the lock is to be. Makes the folder of a new run.
fs::path lock_path(const fs::path& folder, Start start) {
  if (fs::exists(folder / "config.json"))
    throw UsageError(
        "{} holds a model or a store (its config.json), not a run; name another folder with --out",
        folder.native());
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
  create_folders(folder);
  return folder / "lock";
}

/// config::leaves by their paths.
std::map<std::string, Json> leaves_of(const Json& table) {
  const auto leaves = config::leaves(table);
  return {leaves.begin(), leaves.end()};
}

/// Throws UsageError where a run in `folder` that began with `before` may not continue with `now`.
void check_same_run(const fs::path& folder, const Json& before, const Json& now) {
  static const std::set<std::string> kMayChange = {"train.steps",
                                                   "train.device",
                                                   "train.threads",
                                                   "train.checkpoint_every",
                                                   "train.keep_checkpoints",
                                                   "train.patience",
                                                   "train.stop_loss",
                                                   "train.sample_every",
                                                   "train.tensorboard",
                                                   "train.csv"};
  const auto began = leaves_of(before);
  for (const auto& [key, value] : leaves_of(now)) {
    const auto old = began.find(key);
    if (old == began.end() || old->second == value) continue;
    if (key.starts_with("sample.") || kMayChange.count(key)) continue;
    throw UsageError(
        "{} began with {} = {}, now it is {}; give the same value to continue it, or another "
        "folder",
        folder.native(), key, old->second.dump(), value.dump());
  }
}

/// Throws UsageError where a run would end before the updates that it has already made.
void check_steps(const fs::path& folder, int64_t steps) {
  const int64_t made = Checkpoints(folder / "checkpoints", 1).last_step();
  if (steps < made)
    throw UsageError("{} has made {} updates, and train.steps is {}; give {} or more",
                     folder.native(), made, steps, made);
}

}  // namespace

RunFolder::RunFolder(fs::path path, Start start)
    : path_(std::move(path)),
      start_(start),
      lock_(lock_path(path_, start),
            "another process is training in this folder; wait until it has ended, or choose "
            "another folder with --out") {
  const bool has_begun = fs::exists(path_ / MetricsLog::kFile) ||
                         !Checkpoints(path_ / "checkpoints", 1).paths().empty();
  if (start == Start::kNew && has_begun)
    throw UsageError(
        "{} already holds a run; continue it with --resume, or name another folder with --out",
        path_.native());
}

int64_t RunFolder::write_configuration(const Learner& learner, int64_t processes) const {
  const fs::path file = path_ / "config.toml";
  const Json configuration = learner.configuration();
  const int64_t steps = learner.training().steps;
  if (start_ == Start::kResume && fs::exists(file)) {
    const Json before = learner.completed(config::read_toml(file), file.native());
    check_same_run(path_, before, configuration);
    check_steps(path_, steps);
    write_file(file, config::to_toml(configuration));
    return before.value(Json::json_pointer("/train/steps"), steps);
  }
  write_file(file, config::to_toml(configuration));
  Json manifest = tessera::manifest(learner.training().seed);
  manifest["world_size"] = processes;
  write_file(path_ / "manifest.json", manifest.dump(2) + "\n");
  return steps;
}

}  // namespace tessera
