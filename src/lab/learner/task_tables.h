#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "tessera/base/config.h"
#include "tessera/train/train_config.h"

namespace tessera::task {

/// The configuration of a training without the name in its table [task], and without that table
/// where it has nothing else.
config::Json without_task_name(config::Json configuration);
/// The same with this name, which comes first.
config::Json with_task_name(std::string_view name, const config::Json& configuration);

/// These tables of a configuration as one text, for Learner::digest().
std::string digest_of(const config::Json& configuration, std::initializer_list<const char*> tables);

/// A configuration from tables of which [task] may have the name. where: their file, for messages.
template <config::Configuration Config>
Config config_without_name(const config::Json& configuration, const std::string& where) {
  Config config;
  config::saying_where(where,
                       [&] { config::from_json(without_task_name(configuration), config, ""); });
  return config;
}

/// TrainConfig::check() of a training on a task, which has no text that could be sampled. Throws
/// UsageError also where train.sample_every asks for samples.
void check_task_training(const TrainConfig& train);

/// Sets a size of a table [model] to the task's. Throws UsageError where it has another one.
void set_size(config::Json& fields, const char* key, int64_t size);

}  // namespace tessera::task
