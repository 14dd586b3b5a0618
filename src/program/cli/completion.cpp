// The scripts that bash, zsh and fish read to complete a command line of the program.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "program/cli/manual.h"
#include "tessera/data/command.h"

namespace tessera::cli {
namespace {

/// `text` with a backslash before each of these characters.
std::string with_backslashes(std::string_view text, std::string_view characters) {
  std::string result;
  for (const char c : text) {
    if (characters.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

/// A word of fish.
std::string fish_quoted(std::string_view text) {
  return "'" + with_backslashes(text, "'\\") + "'";
}

/// "recall" of "tessera memo recall".
std::string last_word(const std::string& verb) {
  return verb.substr(verb.rfind(' ') + 1);
}

/// The full names of all verbs below the program, quoted.
std::vector<std::string> quoted_names(const VerbHelp& program,
                                      std::string (*quote)(std::string_view text)) {
  std::vector<std::string> names;
  for (const VerbHelp* verb : all_verbs(program))
    if (verb != &program) names.push_back(quote(verb->name));
  return names;
}

/// What _arguments of zsh knows of an option.
std::string zsh_option(const std::string& name, const OptionHelp& option) {
  std::string value;
  if (!option.choices.empty())
    value = fmt::format(":value:({})", fmt::join(option.choices, " "));
  else if (option.takes_value)
    value = ":value:_files";
  return shell_quoted(
      fmt::format("*{}[{}]{}", name, with_backslashes(option.help, "[]:\\"), value));
}

/// The function that completes a verb of zsh.
std::string zsh_function(const VerbHelp& verb) {
  std::string name = "_" + verb.name, options, verbs;
  std::replace(name.begin(), name.end(), ' ', '_');
  for (const OptionHelp& option : verb.options)
    for (const auto& spelling : option.names) options += " \\\n    " + zsh_option(spelling, option);
  if (verb.verbs.empty())
    return fmt::format("{}() {{\n  _arguments{} \\\n    '*:file:_files'\n}}\n", name, options);
  for (const VerbHelp& below : verb.verbs)
    verbs += "\n    " + shell_quoted(last_word(below.name) + ":" + below.help);
  return fmt::format(R"({0}() {{
  local curcontext=$curcontext state line
  local -a verbs=({1}
  )
  _arguments -C{2} \
    '1:verb:->verb' '*::argument:->rest'
  case $state in
    verb) _describe verb verbs ;;
    rest) (($+functions[{0}_$line[1]])) && {0}_$line[1] ;;
  esac
}}
)",
                     name, verbs, options);
}

/// What fish completes after a verb.
std::string fish_lines(const VerbHelp& verb) {
  const std::string line = "complete -c tessera -n " + fish_quoted("__tessera_verb " + verb.name);
  std::string lines;
  for (const VerbHelp& below : verb.verbs)
    lines +=
        fmt::format("{} -f -a {} -d {}\n", line, last_word(below.name), fish_quoted(below.help));
  for (const OptionHelp& option : verb.options) {
    lines += line;
    for (const auto& name : option.names)
      lines += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!option.choices.empty())
      lines += fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
    else if (option.takes_value)
      lines += " -r";
    lines += fmt::format(" -d {}\n", fish_quoted(option.help));
  }
  return lines;
}

}  // namespace

std::string bash_completion(const VerbHelp& program) {
  std::string verbs, choices;
  for (const VerbHelp* verb : all_verbs(program)) {
    std::vector<std::string> below, options;
    for (const VerbHelp& one : verb->verbs) below.push_back(last_word(one.name));
    for (const OptionHelp& option : verb->options) {
      options.push_back(option.names.back());
      if (!option.choices.empty())
        choices += fmt::format("    '{} {}') words='{}' ;;\n", verb->name, option.names.back(),
                               fmt::join(option.choices, " "));
    }
    verbs += fmt::format("    '{}') words='{}' options='{}' ;;\n", verb->name,
                         fmt::join(below, " "), fmt::join(options, " "));
  }
  return fmt::format(R"(# Completes tessera in bash. Written by 'tessera manual'.
_tessera() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
  local verb=tessera next words= options=
  for next in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$verb $next" in
      {}) verb+=" $next" ;;
    esac
  done
  case $verb in
{}  esac
  case "$verb $before" in
{}  esac
  [[ $word == -* ]] && words=$options
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _tessera tessera
)",
                     fmt::join(quoted_names(program, shell_quoted), " | \\\n      "), verbs,
                     choices);
}

std::string zsh_completion(const VerbHelp& program) {
  std::string functions;
  for (const VerbHelp* verb : all_verbs(program)) functions += zsh_function(*verb);
  return "#compdef tessera\n# Completes tessera in zsh. Written by 'tessera manual'.\n" +
         functions + "_tessera \"$@\"\n";
}

std::string fish_completion(const VerbHelp& program) {
  std::string lines;
  for (const VerbHelp* verb : all_verbs(program)) lines += fish_lines(*verb);
  return fmt::format(R"(# Completes tessera in fish. Written by 'tessera manual'.
function __tessera_verb --description 'Whether the command line names this verb'
    set -l verb tessera
    for word in (commandline -opc)[2..]
        if contains -- "$verb $word" {}
            set verb "$verb $word"
        end
    end
    test "$verb" = "$argv"
end
{})",
                     fmt::join(quoted_names(program, fish_quoted), " "), lines);
}

}  // namespace tessera::cli
