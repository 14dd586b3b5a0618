#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "tessera/base/config.h"

namespace tessera {

/// metrics.jsonl of a run: one JSON object a line, each with a whole number "step", appended and
/// handed to the system line by line.
class MetricsLog {
 public:
  /// Keeps the lines whose step is at most `through_step` and drops the others, so that a resumed
  /// run writes each step once; -1 starts an empty log. Throws SystemError; DataError where a line
  /// that stays, other than a torn last one, is not of that form.
  MetricsLog(const std::filesystem::path& path, int64_t through_step);
  ~MetricsLog();
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  /// Bytes of a text that are not UTF-8 become the replacement character. Throws SystemError (disk
  /// full).
  void write(const config::Json& line);
  /// Returns when everything written is on the disk.
  void sync();

  /// The lines of such a log; none where there is no file. A torn last line is left out.
  static std::vector<config::Json> read(const std::filesystem::path& path);

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace tessera
