#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/infer/beam_search.h"
#include "tessera/infer/generate.h"
#include "tessera/infer/model_folder.h"

namespace tessera::cli {

/// What `tessera generate` was asked for.
struct GenerateCommand {
  std::string model;
  Placement placement;
  std::vector<std::string> prompts = {""};
  GenerateOptions generate;
  int64_t samples = 1;  ///< of each prompt
  std::optional<int64_t> beams;
  std::optional<double> length_penalty;
  std::string load_session, save_session;
  bool json = false;
};

/// The three ways of writing; results on standard output. Each throws Interrupted after a signal,
/// when what there is has been printed.

/// Continuations that are drawn. A single one comes as it is written, several one after the other.
void write_samples(const GenerateCommand& command, const ModelFolder& folder);
/// The hypotheses of a beam search, best first.
void write_beams(const GenerateCommand& command, const ModelFolder& folder);
/// Goes on after every line of standard input, until that ends. A signal ends the continuation
/// alone.
void write_in_turns(const GenerateCommand& command, const ModelFolder& folder);

}  // namespace tessera::cli
