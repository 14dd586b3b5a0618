#pragma once

#include <string>
#include <vector>

#include "program/cli/verb.h"

namespace tessera::cli {

/// A verb and all below it, each before those below.
std::vector<const VerbHelp*> all_verbs(const VerbHelp& verb);

/// Scripts that complete a command line: verbs, their options, the values of an option that has
/// only a few, else names of files.
std::string bash_completion(const VerbHelp& program);
std::string zsh_completion(const VerbHelp& program);
std::string fish_completion(const VerbHelp& program);

}  // namespace tessera::cli
