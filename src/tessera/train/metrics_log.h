#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "tessera/base/config.h"

namespace tessera {

/// A form in which a run's metrics are written: a header, and the bytes of each line, so that the
/// file is a function of the lines alone.
struct MetricsForm {
  std::string file;  ///< its path in the run's folder
  std::string header;
  std::function<std::string(const config::Json& line)> bytes_of;
};

/// metrics.csv: step, elapsed_seconds, name and value of every number; "training/loss",
/// "validation/loss".
MetricsForm csv_form();

/// tensorboard/events.out.tfevents.tessera: the same numbers as scalars, in TFRecords (length,
/// data, and of both the masked CRC-32C) of tensorflow.Event. Encoded by hand: it is two messages
/// of four and two fields. began: seconds since 1970, from which elapsed_seconds count.
MetricsForm tensorboard_form(double began);

/// metrics.jsonl of a run: one JSON object a line, each with a whole number "step", appended and
/// handed to the system line by line.
class MetricsLog {
 public:
  static constexpr const char* kFile = "metrics.jsonl";  ///< in the run's folder

  /// Keeps the lines whose step is at most `through_step` and drops the others, so that a resumed
  /// run writes each step once; -1 starts an empty log. written_again: kinds of lines that step
  /// `through_step` loses, too ("evaluation", "sample"). forms: the same in other files beside it,
  /// which are written again from the lines that stay. Throws SystemError; DataError where a line
  /// that stays, other than a torn last one, is not of that form.
  MetricsLog(const std::filesystem::path& path, int64_t through_step,
             std::vector<MetricsForm> forms = {},
             const std::vector<std::string>& written_again = {});
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
  std::list<File> files_;  // the log itself first
};

/// The one of an evaluation's metrics that ranks the weights; NaN: not measured.
double loss_of(const std::map<std::string, double>& metrics);

/// What the evaluations of a run found, by the number of updates before them: metrics and their
/// values. This and the next read the log in the run's folder; a number that is not finite is NaN.
std::map<int64_t, std::map<std::string, double>> logged_evaluations(
    const std::filesystem::path& run);
/// The training loss of each update, by its number, from 1.
std::map<int64_t, double> logged_losses(const std::filesystem::path& run);

}  // namespace tessera
