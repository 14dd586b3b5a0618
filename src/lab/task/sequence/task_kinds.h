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
  std::function<std::unique_ptr<SequenceTask>(const config::Json& settings)> make;
  std::function<config::Json(const config::Json& settings)> complete;
};

/// All of them, in the papers' order.
const std::vector<TaskKind>& task_kinds();

/// The task of this name with these settings; others keep their defaults. Throws UsageError on an
/// unknown name or key, with the nearest known one, and on values that make no task.
std::unique_ptr<SequenceTask> make_task(const std::string& name, const config::Json& settings);

/// The settings with every default filled in, in the order of the fields. Throws as make_task()
/// does.
config::Json complete_settings(const std::string& name, const config::Json& settings);

}  // namespace tessera::task
