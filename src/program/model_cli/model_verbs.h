#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "program/cli/verb.h"
#include "tessera/data/token_memory.h"
#include "tessera/infer/model_folder.h"
#include "tessera/train/rendezvous.h"

namespace tessera {
class Processes;
}

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

/// The file of a model directory that holds its weights.
std::filesystem::path weights_in(const std::filesystem::path& model);

/// --weights, --pairs and --device of the verbs that only read a language model.
void add_placement(Verb& verb, Placement& placement);

constexpr const char* kStoreHelp =
    "A memo store with the model's tokenizer: each token's distribution is mixed with what the "
    "store holds after the same tokens";

/// The store in this folder as a memory beside the model in `model`; none without a folder. Throws
/// DataError if the store has another tokenizer.
std::unique_ptr<const TokenMemory> store_memory(const ModelFolder& folder, const std::string& model,
                                                const std::string& store);

/// The processes that a launcher has started, this one among them; null where it is alone. Those of
/// one machine divide its threads. Throws UsageError where they run different versions.
std::unique_ptr<Processes> meet_processes(const Rendezvous& rendezvous);

}  // namespace tessera::cli
