#include "lab/learner/task_name.h"

#include <nlohmann/json.hpp>

namespace tessera::task {

config::Json without_task_name(config::Json configuration) {
  if (!configuration.contains("task") || !configuration["task"].is_object()) return configuration;
  configuration["task"].erase("name");
  if (configuration["task"].empty()) configuration.erase("task");
  return configuration;
}

}  // namespace tessera::task
