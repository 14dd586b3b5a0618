// tessera manual FOLDER

#include "program/cli/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <memory>
#include <string_view>

#include "program/cli/program.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/version.h"

namespace tessera::cli {
namespace {

/// `text` as man(7) prints it: its dashes and quotes can be copied, and nothing in it is a command.
std::string roff(std::string_view text) {
  static const std::map<char, std::string_view> kNames = {
      {'\\', "\\e"}, {'-', "\\-"}, {'\'', "\\(aq"}, {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
  std::string result;
  for (const char c : text) {
    if (c == '.' && (result.empty() || result.back() == '\n')) result += "\\&";
    if (const auto name = kNames.find(c); name != kNames.end())
      result += name->second;
    else
      result += c;
  }
  return result;
}

/// "tessera-memo-recall" of "tessera memo recall".
std::string page_name(std::string verb) {
  std::replace(verb.begin(), verb.end(), ' ', '-');
  return verb;
}

/// A reference to the page of a verb.
std::string reference(const std::string& verb) {
  return fmt::format(".BR {} (1)\n", roff(page_name(verb)));
}

std::string section(std::string_view title, const std::string& text) {
  return text.empty() ? "" : fmt::format(".SH {}\n{}", title, text);
}

std::string list_of(const std::vector<OptionHelp>& options) {
  std::string text;
  for (const OptionHelp& option : options) {
    const std::string names = fmt::format("{}", fmt::join(option.names, ", "));
    const std::string value = option.value.empty() ? "" : " " + option.value;
    text += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(names), roff(value), roff(option.help));
  }
  return text;
}

std::string list_of(const std::vector<VerbHelp>& verbs) {
  std::string text;
  for (const VerbHelp& verb : verbs)
    text += fmt::format(".TP\n{}{}\n", reference(verb.name), roff(verb.help));
  return text;
}

/// The manual page (section 1) of a verb, in the language of man(7).
std::string manual_page(const VerbHelp& verb) {
  const std::string name = page_name(verb.name);
  std::string title = name;
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const std::string above = verb.name.substr(0, verb.name.rfind(' '));
  return fmt::format(".TH {} 1 \"\" \"tessera {}\" Tessera\n", roff(title), version()) +
         section("NAME", fmt::format("{} \\- {}\n", roff(name), roff(verb.help))) +
         section("SYNOPSIS", fmt::format(".B {}\n{}\n", roff(verb.name),
                                         roff(verb.usage.substr(verb.name.size() + 1)))) +
         section("VERBS", list_of(verb.verbs)) + section("ARGUMENTS", list_of(verb.arguments)) +
         section("OPTIONS", list_of(verb.options)) +
         section("NOTES",
                 verb.footer.empty() ? "" : fmt::format(".nf\n{}\n.fi\n", roff(verb.footer))) +
         section("SEE ALSO", above == verb.name ? "" : reference(above));
}

void write_manual(const VerbHelp& program, const std::filesystem::path& folder) {
  const InterruptGuard guard;  // a signal waits until all is written
  for (const VerbHelp* verb : all_verbs(program))
    write_file(folder / "man/man1" / (page_name(verb->name) + ".1"), manual_page(*verb));
  write_file(folder / "bash-completion/completions/tessera", bash_completion(program));
  write_file(folder / "zsh/vendor-completions/_tessera", zsh_completion(program));
  write_file(folder / "fish/vendor_completions.d/tessera.fish", fish_completion(program));
  InterruptGuard::stop_if_interrupted("interrupted after all was written");
}

}  // namespace

std::vector<const VerbHelp*> all_verbs(const VerbHelp& verb) {
  std::vector<const VerbHelp*> all = {&verb};
  for (const VerbHelp& below : verb.verbs)
    for (const VerbHelp* found : all_verbs(below)) all.push_back(found);
  return all;
}

void add_manual(Verb& program) {
  const auto folder = std::make_shared<std::string>();
  Verb& verb = program.verb(
      "manual", "Write the manual pages, and the completions for bash, zsh and fish, to files");
  verb.option("folder", *folder,
              "Folder that gets man, bash-completion, zsh and fish, such as ~/.local/share")
      .required();
  verb.run([&program, folder] { write_manual(program.help(), *folder); });
}

}  // namespace tessera::cli
