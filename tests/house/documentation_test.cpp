// Holds the commands that the documentation shows against the program: every verb, option, study,
// configuration key and file in them exists. What the commands print is not compared.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tessera/base/file.h"
#include "tests/program/cli/tessera_program.h"

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;
const fs::path kRoot = tessera::test::source_folder();

std::vector<fs::path> documents() {
  std::vector<fs::path> files = {kRoot / "README.md", kRoot / "CONTRIBUTING.md",
                                 kRoot / "models/stories/README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "docs"))
    if (entry.path().extension() == ".md") files.push_back(entry.path());
  return files;
}

/// Words of a shell command up to a pipe, a redirection or a comment.
Words words_of(const std::string& command) {
  Words words;
  const std::regex word(R"re("([^"]*)"|'([^']*)'|(\S+))re");
  for (std::sregex_iterator it(command.begin(), command.end(), word), end; it != end; ++it) {
    const std::string bare = (*it)[3].str();
    if (bare == "|" || bare == "#" || bare.starts_with(">") || bare.starts_with("2>")) break;
    words.push_back((*it)[1].str() + (*it)[2].str() + bare);
  }
  return words;
}

/// What the program prints on standard output; each command line runs once.
const std::string& output_of(const std::string& arguments) {
  static std::map<std::string, std::string> known;
  if (known.count(arguments)) return known[arguments];
  const tessera::test::Outcome run = tessera::cli::tessera(words_of(arguments));
  EXPECT_EQ(run.status, 0) << arguments << ": " << run.err;
  return known[arguments] = run.out;
}

/// Lines of ```sh blocks, with those that end in a backslash joined.
std::vector<Words> shell_commands(const std::string& text) {
  std::vector<Words> commands;
  std::istringstream lines(text);
  bool inside = false;
  std::string command;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      inside = line == "```sh";
      continue;
    }
    if (!inside) continue;
    command += line;
    if (command.ends_with('\\')) {
      command.back() = ' ';
      continue;
    }
    if (const Words words = words_of(command); !words.empty()) commands.push_back(words);
    command.clear();
  }
  return commands;
}

/// The words after the program's name, in blocks and in `inline code`.
std::vector<Words> program_commands(const std::string& text) {
  std::vector<Words> commands;
  for (const Words& words : shell_commands(text))
    if (words.front() == "tessera" || words.front().ends_with("/tessera"))
      commands.emplace_back(words.begin() + 1, words.end());
  const std::regex inline_code("`tessera ([^`\n]+)`");
  for (std::sregex_iterator it(text.begin(), text.end(), inline_code), end; it != end; ++it)
    commands.push_back(words_of((*it)[1].str()));
  return commands;
}

bool lists_verb(const std::string& help, const std::string& verb) {
  const size_t list = help.find("Verbs:");
  return list != std::string::npos && help.find("\n  " + verb + " ", list) != std::string::npos;
}

/// Whether an option stands in a help text as a whole word.
bool lists_option(const std::string& help, const std::string& option) {
  return std::regex_search(help, std::regex(option + "[^a-z-]"));
}

/// A key of --set stands in the help of training: "train.steps" as "  steps". [model] also has
/// kind.
void expect_known_key(const std::string& help, const std::string& setting) {
  const std::string key = setting.substr(0, setting.find('='));
  const std::string name = key.substr(key.find('.') + 1);
  EXPECT_TRUE(name == "kind" || lists_option(help, "\n  " + name)) << "no such key: " << key;
}

void expect_known(const Words& words) {
  SCOPED_TRACE(testing::PrintToString(words));
  std::string verb;
  size_t at = 0;
  while (at < words.size() && lists_verb(output_of(verb + "--help"), words[at]))
    verb += words[at++] + " ";
  EXPECT_TRUE(at > 0 || words.at(0).starts_with("-")) << "no such verb";
  if (verb == "study " && words.at(at).find('/') != std::string::npos) {
    EXPECT_THAT(output_of("study --list"), testing::HasSubstr(words[at] + " "));
  }

  const std::string help = output_of(verb + "--help") + output_of("--help");
  for (; at < words.size(); ++at) {
    const std::string option = words[at].substr(0, words[at].find('='));
    EXPECT_TRUE(!option.starts_with("--") || lists_option(help, option)) << "no " << option;
    if (option == "--set" && verb == "train ") expect_known_key(help, words.at(at + 1));
  }
}

TEST(Documentation, CommandsUseWhatTheProgramHas) {
  size_t commands = 0;
  for (const auto& file : documents()) {
    if (file.filename() == "errors.md") continue;  // its commands are wrong on purpose
    SCOPED_TRACE(file.native());
    for (const Words& words : program_commands(tessera::read_file(file))) {
      expect_known(words);
      ++commands;
    }
  }
  EXPECT_GE(commands, 20u);
}

/// Whether a page has the command of a study, alone or in a list of those of its paper:
/// "`tessera study stm/cost`, `rank`".
bool has_study(const std::string& page, const std::string& id) {
  const size_t slash = id.find('/');
  const std::string paper = id.substr(0, slash), name = id.substr(slash + 1);
  return std::regex_search(page, std::regex("tessera study " + id + "[ `\n]")) ||
         std::regex_search(page, std::regex("`tessera study " + paper + "/[a-z0-9-]+`" +
                                            "(, `[a-z0-9-]+`)*, `" + name + "`"));
}

TEST(Documentation, ListsEveryStudyWithItsCommand) {
  const std::string page = tessera::read_file(kRoot / "docs/papers.md");
  std::istringstream list(output_of("study --list"));
  std::string line;
  std::getline(list, line);  // the columns' names
  size_t studies = 0;
  for (; std::getline(list, line); ++studies) {
    const std::string id = line.substr(0, line.find(' '));
    EXPECT_TRUE(has_study(page, id)) << id << " is not in docs/papers.md";
    EXPECT_THAT(output_of("study " + id + " --help"), testing::HasSubstr("Usage: tessera study"));
  }
  EXPECT_THAT(page, testing::HasSubstr("names all " + std::to_string(studies) + " studies"));
}

TEST(Documentation, FilesInCommandsExist) {
  for (const auto& file : documents())
    for (const Words& words : shell_commands(tessera::read_file(file)))
      for (const auto& word : words) {
        const bool built = word.starts_with("./build/");  // by a command before
        if (!built && (word.starts_with("examples/") || word.starts_with("./"))) {
          EXPECT_TRUE(fs::exists(kRoot / word)) << word << " in " << file;
        }
      }
}

TEST(Documentation, LinksLeadToFiles) {
  const std::regex link(R"(\]\(([^):#]+)[)#])");
  for (const auto& file : documents()) {
    const std::string text = tessera::read_file(file);
    for (std::sregex_iterator it(text.begin(), text.end(), link), end; it != end; ++it)
      EXPECT_TRUE(fs::exists(file.parent_path() / (*it)[1].str())) << (*it)[0] << " in " << file;
  }
}

/// A file of this repository as references.md names it: without its ending, in the library without
/// its house.
bool is_a_source(const std::string& name) {
  for (const char* house : {"", "src/", "src/tessera/"})
    for (const char* ending : {"", ".h", ".cpp"})
      if (fs::exists(kRoot / (house + name + ending))) return true;
  return false;
}

TEST(Documentation, SourcesInTheReferencesExist) {
  const std::regex name("`([a-z0-9_]+(/[a-z0-9_.]+)+)`");
  size_t found = 0;
  std::istringstream lines(tessera::read_file(kRoot / "docs/references.md"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("|")) continue;  // elsewhere repositories have names of this form, too
    for (std::sregex_iterator it(line.begin(), line.end(), name), end; it != end; ++it, ++found)
      EXPECT_TRUE(is_a_source((*it)[1])) << (*it)[1] << " in: " << line;
  }
  EXPECT_GE(found, 100u);
  EXPECT_FALSE(is_a_source("ops/no_such_op"));
}

TEST(Documentation, WhatIsWrongIsFound) {
  EXPECT_THAT(shell_commands("```sh\na \\\n  'b c' | d\n# e\n```\nf\n```\ng\n```\n"),
              testing::ElementsAre(Words{"a", "b c"}));
  EXPECT_THAT(program_commands("`tessera eval --x=1` ```sh\n```sh\nbin/tessera y # z\n```\n"),
              testing::UnorderedElementsAre(Words{"eval", "--x=1"}, Words{"y"}));
  EXPECT_TRUE(has_study("| `tessera study a/b`, `c`, `d` |", "a/d"));
  EXPECT_FALSE(has_study("| `tessera study a/b`, `c` | `d` `tessera study a/de` |", "a/d"));
  EXPECT_FALSE(lists_verb("Verbs:\n  train  x", "rain"));
  EXPECT_FALSE(lists_option("  --top-k INT", "--top"));
  EXPECT_TRUE(lists_option("  --top-k INT", "--top-k"));
}

}  // namespace
