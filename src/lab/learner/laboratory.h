#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tessera/model/model_kind.h"
#include "tessera/train/learner.h"

namespace tessera::task {

/// Makes the laboratory's networks known by their names, as model_kinds() has them, and its stories
/// as a text to train on. A program calls it when it starts; later calls do nothing.
void add_laboratory();

/// The learner of a configuration whose table [task] names a task: a sequence task, "babi",
/// "regbench" or "pong". where: the configuration's file, for messages; begun: as
/// TaskTrainingConfig::from_json() takes it. Throws UsageError that lists the tasks there are, and
/// what the learner's constructor throws.
std::unique_ptr<Learner> make_learner(const config::Json& configuration, const std::string& where,
                                      const config::Json& begun = nullptr);

/// The tables and keys of such configurations, for --help.
std::string describe_learners();

/// The keys of [model] for every kind of which this holds, for --help: &ModelKind::language_model
/// or &ModelKind::reads_vectors.
std::string describe_models(bool ModelKind::*holds);

}  // namespace tessera::task
