#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lab/task/sequence/sequence_task.h"

namespace tessera::task {

/// A task that configurations and commands can name.
struct TaskKind {
  std::string name;     ///< "copy"
  std::string summary;  ///< one line for people who do not know it
  std::string fields;   ///< its configuration keys, defaults and help, one a line
  /// The task with these settings; others keep their defaults. Throws UsageError on an unknown key,
  /// with the nearest known one, and on values that make no task.
  std::function<std::unique_ptr<SequenceTask>(const config::Json& settings)> make;
  /// The settings with every default filled in, in the order of the fields.
  std::function<config::Json(const config::Json& settings)> complete;
};

/// All of them, in the papers' order.
const std::vector<TaskKind>& task_kinds();

/// The one of this name. Throws UsageError that lists the names there are.
const TaskKind& task_kind(const std::string& name);

}  // namespace tessera::task
