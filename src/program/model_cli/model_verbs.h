#pragma once

#include <optional>
#include <string>

#include "program/cli/verb.h"
#include "tessera/infer/model_folder.h"

namespace tessera::cli {

/// Each adds one verb with its options to the program.
void add_train(Verb& program);
void add_generate(Verb& program);
void add_eval(Verb& program);
void add_inspect(Verb& program);
void add_forward(Verb& program);
void add_import(Verb& program);
void add_export(Verb& program);
void add_study(Verb& program);
void add_serve(Verb& program);

/// --weights, --pairs and --device of the verbs that only read a language model.
void add_placement(Verb& verb, Placement& placement);

void add_version(Verb& program);

}  // namespace tessera::cli
