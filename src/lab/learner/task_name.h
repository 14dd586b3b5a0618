#pragma once

#include <string_view>

#include "tessera/base/config.h"

namespace tessera::task {

/// What a table [task] calls the tasks that are no SequenceTask.
constexpr std::string_view kBabiName = "babi", kRegBenchName = "regbench", kPongName = "pong";

/// The configuration of a training without the name in its table [task], and without that table
/// where it has nothing else.
config::Json without_task_name(config::Json configuration);

}  // namespace tessera::task
