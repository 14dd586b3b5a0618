#include "lab/learner/task_tables.h"

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"

namespace tessera::task {

config::Json without_task_name(config::Json configuration) {
  if (!configuration.contains("task") || !configuration["task"].is_object()) return configuration;
  configuration["task"].erase("name");
  if (configuration["task"].empty()) configuration.erase("task");
  return configuration;
}

config::Json with_task_name(std::string_view name, const config::Json& configuration) {
  config::Json named = {{"task", {{"name", name}}}};
  named.update(configuration, /*merge_objects=*/true);
  return named;
}

std::string digest_of(const config::Json& configuration,
                      std::initializer_list<const char*> tables) {
  std::string digest;
  for (const char* table : tables) digest += configuration.at(table).dump() + " ";
  return digest;
}

void check_task_training(const TrainConfig& train) {
  train.check();
  if (train.sample_every != 0)
    throw UsageError("train.sample_every is {}, expected 0: a training on a task has no samples",
                     train.sample_every);
}

void set_size(config::Json& fields, const char* key, int64_t size) {
  if (fields.contains(key) && fields[key] != size)
    throw UsageError("model.{} is {}, but the task has {}; leave it out", key, fields[key].dump(),
                     size);
  fields[key] = size;
}

}  // namespace tessera::task
