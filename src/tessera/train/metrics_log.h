#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/train/metrics_forms.h"

namespace tessera {

/// metrics.jsonl of a run: one JSON object a line, each with a whole number "step", appended and
/// handed to the system line by line.
class MetricsLog {
 public:
  /// Keeps the lines whose step is at most `through_step` and drops the others, so that a resumed
  /// run writes each step once; -1 starts an empty log. forms: the same in other files beside it,
  /// which are written again from the lines that stay. Throws SystemError; DataError where a line
  /// that stays, other than a torn last one, is not of that form.
  MetricsLog(const std::filesystem::path& path, int64_t through_step,
             std::vector<MetricsForm> forms = {});
  ~MetricsLog();
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  /// Throws SystemError (disk full).
  void write(const config::Json& line);
  /// Returns when every line written is on the disk. (The other forms follow from the lines.)
  void sync();

  /// The lines of such a log; none where there is no file. A torn last line is left out.
  static std::vector<config::Json> read(const std::filesystem::path& path);

 private:
  class File;
  std::vector<File> files_;  // the log itself first
};

}  // namespace tessera
