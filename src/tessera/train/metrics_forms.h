#pragma once

#include <functional>
#include <string>

#include "tessera/base/config.h"

namespace tessera {

/// A form in which a run's metrics are written: a header, and the bytes of each line, so that the
/// file is a function of the lines alone.
struct MetricsForm {
  std::string file;  ///< its path in the run's folder
  std::string header;
  std::function<std::string(const config::Json& line)> bytes_of;
};

/// metrics.jsonl: each line as JSON; bytes of a text that are not UTF-8 become the replacement
/// character.
MetricsForm jsonl_form();

/// metrics.csv: step, elapsed_seconds, name and value of every number; "training/loss",
/// "validation/loss".
MetricsForm csv_form();

/// tensorboard/events.out.tfevents.tessera: the same numbers as scalars, in TFRecords (length,
/// data, and of both the masked CRC-32C) of tensorflow.Event. Encoded by hand: it is two messages
/// of four and two fields. began: seconds since 1970, from which elapsed_seconds count.
MetricsForm tensorboard_form(double began);

}  // namespace tessera
