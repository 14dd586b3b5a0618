#include "program/cli/verb.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "tessera/base/number.h"
#include "tessera/base/suggestion.h"

namespace tessera::cli {
namespace {

constexpr size_t kHelpColumn = 30;  // where the explanations of a help page begin
constexpr size_t kHelpWidth = 70;   // of an explanation
constexpr size_t kMostListed = 6;   // names of other options in one note

/// An explanation in lines of at most kHelpWidth characters, the second and later ones indented.
std::string wrapped(const std::string& text) {
  std::string result;
  size_t line = 0;  // characters in the last line
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const size_t word = end - begin;
    if (line > 0 && line + 1 + word > kHelpWidth) {
      line = 0;
      (result += '\n').append(kHelpColumn, ' ');
    } else if (line > 0) {
      ++line;
      result += ' ';
    }
    result.append(text, begin, word);
    line += word;
    begin = end + 1;
  }
  return result;
}

/// CLI11 takes "[a,b]" for two values where an option may have several: a document of this name
/// would be two others. A mark before it keeps it as it was typed.
constexpr char kMark = '\1';

/// Where an argument's value begins: behind the "=" of an option.
size_t begin_of_value(std::string_view argument) {
  const size_t equals = argument.starts_with("--") ? argument.find('=') : std::string_view::npos;
  return equals == std::string_view::npos ? 0 : equals + 1;
}

std::string marked(std::string argument) {
  const size_t begin = begin_of_value(argument);
  const std::string_view value = std::string_view(argument).substr(begin);
  if (value.starts_with(kMark) || (value.starts_with('[') && value.ends_with(']')))
    argument.insert(begin, 1, kMark);
  return argument;
}

std::string unmarked(std::string argument) {
  const size_t begin = begin_of_value(argument);
  if (std::string_view(argument).substr(begin).starts_with(kMark)) argument.erase(begin, 1);
  return argument;
}

/// Names of options: "--error, --sample".
std::string listed(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const auto* option : options) names.push_back(option->get_name());
  std::sort(names.begin(), names.end());  // a set of pointers has no order of its own
  return fmt::format("{}", fmt::join(names, ", "));
}

/// CLI11 2.5 and later would break the lines of the first and the last paragraph anew.
template <typename Page>
void keep_lines(Page& page) {
  if constexpr (requires { page.enable_footer_formatting(false); }) {
    page.enable_description_formatting(false);
    page.enable_footer_formatting(false);
  }
}

/// A page shows what belongs to the arguments, such as the settings of a study. CLI11 2.6 and later
/// would make it before it reads them.
void read_before_help([[maybe_unused]] CLI::App& app) {
#if CLI11_VERSION_MAJOR > 2 || CLI11_VERSION_MINOR >= 6
  app.option_defaults()->callback_priority(CLI::CallbackPriority::PreRequirementsCheckPreHelp);
  app.get_help_ptr()->callback_priority(CLI::CallbackPriority::PreRequirementsCheck);
#endif
}

/// CLI11's page, with what must hold of an option in words.
class HelpPage : public CLI::Formatter {
 public:
  HelpPage() {
    column_width(kHelpColumn);
    label("SUBCOMMAND", "VERB");
    keep_lines(*this);
  }

  /// CLI11 shows a verb as one that may be left out, because its absence is our error, not its own.
  std::string make_usage(const CLI::App* app, std::string name) const override {
    constexpr std::string_view kOptional = "[VERB]";
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    if (const size_t place = usage.find(kOptional); place != std::string::npos)
      usage.replace(place, kOptional.size(), "VERB");
    if (usage.starts_with('\n')) usage.replace(0, 1, "Usage: ");  // CLI11 2.5
    return usage;
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    std::string value;
    if (option->get_type_size() > 0) value = " " + option->get_type_name();
    if (option->get_expected_max() == CLI::detail::expected_max_vector_size) value += " ...";
    std::vector<std::string> notes;
    if (option->get_required()) notes.emplace_back("required");
    if (!option->get_default_str().empty()) notes.push_back("default " + option->get_default_str());
    if (!option->get_needs().empty()) notes.push_back("with " + listed(option->get_needs()));
    if (const auto& others = option->get_excludes(); !others.empty())
      notes.push_back("not with " +
                      (others.size() <= kMostListed ? listed(others) : "options that say so"));
    return notes.empty() ? value : fmt::format("{} ({})", value, fmt::join(notes, "; "));
  }
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    const std::string names =
        "  " + make_option_name(option, is_positional) + make_option_opts(option);
    const std::string gap = names.size() < kHelpColumn ? "" : "\n" + std::string(kHelpColumn, ' ');
    return fmt::format("{:<{}}{}{}\n", names, kHelpColumn, gap, wrapped(option->get_description()));
  }
  std::string make_subcommand(const CLI::App* verb) const override {
    return fmt::format("{:<{}}{}\n", "  " + verb->get_name(), kHelpColumn,
                       wrapped(verb->get_description()));
  }
};

/// What CLI11 says, with its counts of values, and arguments that are missing, in words.
std::string message_of(const CLI::ParseError& error) {
  const std::string message = error.what();
  constexpr std::string_view kRequired = " is required";
  if (message.ends_with(kRequired) && !message.starts_with('-'))
    return fmt::format("the argument '{}' is missing",
                       message.substr(0, message.size() - kRequired.size()));
  if (error.get_name() != "ArgumentMismatch") return message;
  const bool missing = message.ends_with("missing");
  return message.substr(0, message.find(':')) +
         (missing ? " needs a value" : " is given more than once");
}

/// Whether all of `text` is a number that fits its type.
template <typename Number>
bool read_value(const std::string& text, Number& value) {
  const auto number = number_from<Number>(text);
  if (!number) return false;
  if constexpr (std::is_floating_point_v<Number>)
    if (!std::isfinite(*number)) return false;
  value = *number;
  return true;
}

bool read_value(const std::string& text, std::string& value) {
  value = text;
  return true;
}

}  // namespace

/// How an option's text becomes its value.
struct Option::State {
  std::string type{};           // in the help: "INT"
  std::string expected{};       // in messages: "a whole number"
  std::string least{}, most{};  // that the type holds, where it is one of whole numbers
  std::function<bool(const std::string& text)> read{};  // whether the text is such a value
  bool repeats = false;
  config::Demand demand{};
  CLI::Option* option = nullptr;

  bool within_bounds(const std::string& text) const {
    double number = 0;
    return !read_value(text, number) || demand.allows(number);
  }
  std::string allowed() const {
    const bool has_least = std::isfinite(demand.least), has_most = std::isfinite(demand.most);
    if (!most.empty() && !has_most)
      return fmt::format("{} from {} to {}", expected,
                         has_least ? fmt::format("{}", demand.least) : least, most);
    return has_least ? expected + " " + demand.range() : expected;
  }
};

Option Option::required(bool required) {
  state_->option->required(required)->default_str("");
  return *this;
}

Option Option::demand(const config::Demand& demand) {
  state_->demand = demand;
  if (demand.required) required();
  if (const std::string range = demand.range(); !range.empty())
    state_->option->type_name(state_->type + " " + range);
  return *this;
}

Option Option::at_least(double least) {
  return demand(config::at_least(least));
}

Option Option::between(double least, double most) {
  return demand(config::between(least, most));
}

Option Option::needs(const Option& other) {
  state_->option->needs(other.state_->option);
  return *this;
}

Option Option::excludes(const Option& other) {
  state_->option->excludes(other.state_->option);
  return *this;
}

std::string option_help(std::string_view help_of_field) {
  std::string help(help_of_field);
  help.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(help.front())));
  return help;
}

Verb::Verb(const std::string& name, const std::string& help)
    : program_(std::make_unique<CLI::App>(help, name)), app_(program_.get()) {
  app_->formatter(std::make_shared<HelpPage>());
  app_->fallthrough();  // options of the program may also follow the verb
  app_->require_subcommand(0, 1);
  read_before_help(*app_);
}

Verb::Verb(CLI::App* app, const Verb* above) : app_(app), above_(above) {
  read_before_help(*app_);
}
Verb::~Verb() = default;

Verb& Verb::verb(std::string_view name, std::string_view help) {
  CLI::App* app = app_->add_subcommand(std::string(name), std::string(help))->group("Verbs");
  below_.emplace_back(new Verb(app, this));
  return *below_.back();
}

Option Verb::add(const std::string& name, const std::string& help, const std::string& initial,
                 Option::State value) {
  const auto state = std::make_shared<Option::State>(std::move(value));
  const auto read = [name, state](const CLI::results_t& texts) {
    for (const std::string& argument : texts)
      if (const std::string text = unmarked(argument);
          !state->within_bounds(text) || !state->read(text))
        throw CLI::ConversionError(
            fmt::format("{} is '{}', expected {}", name, text, state->allowed()));
    return true;
  };
  state->option = app_->add_option(name, read, help);
  state->option->type_name(state->type)->default_str(initial);
  if (state->repeats) state->option->expected(CLI::detail::expected_max_vector_size);
  return Option(state);
}

/// Value: what one text is, the target itself or one of those that it holds.
template <typename Value, typename Target>
Option Verb::add_value(const std::string& name, Target& target, const std::string& help) {
  constexpr bool kIsOne = std::is_same_v<Target, Value>;
  constexpr bool kSeveral = std::is_same_v<Target, std::vector<Value>>;
  Option::State state{.type = "FLOAT", .expected = "a number", .repeats = kSeveral};
  if constexpr (std::is_same_v<Value, std::string>)
    state = {.type = "TEXT", .expected = "a text that is not empty", .repeats = kSeveral};
  else if constexpr (std::is_integral_v<Value>)
    state = {.type = "INT",
             .expected = "a whole number",
             .least = fmt::format("{}", std::numeric_limits<Value>::min()),
             .most = fmt::format("{}", std::numeric_limits<Value>::max()),
             .repeats = kSeveral};
  state.read = [&target, first = true](const std::string& text) mutable {
    Value value{};
    if (!read_value(text, value) || (kIsOne && text.empty())) return false;
    if constexpr (!kSeveral) {
      target = value;
    } else {
      if (std::exchange(first, false)) target.clear();  // the default
      target.push_back(value);
    }
    return true;
  };
  std::string initial;
  if constexpr (kIsOne) initial = fmt::format("{}", target);
  return add(name, help, initial, std::move(state));
}

Option Verb::add_choice(const std::string& name, const std::string& help,
                        std::span<const std::string_view> names, const std::string& initial,
                        std::function<void(size_t)> choose) {
  const std::vector<std::string> choices(names.begin(), names.end());
  const auto read = [choices, choose = std::move(choose)](const std::string& text) {
    const auto found = std::find(choices.begin(), choices.end(), text);
    if (found != choices.end()) choose(found - choices.begin());
    return found != choices.end();
  };
  return add(name, help, initial,
             {.type = fmt::format("{}", fmt::join(choices, "|")),
              .expected = fmt::format("one of: {}", fmt::join(choices, ", ")),
              .read = read});
}

Option Verb::option(const std::string& name, std::string& value,
                    const std::vector<std::string_view>& names, const std::string& help) {
  return add_choice(name, help, names, value,
                    [&value, names](size_t chosen) { value = names[chosen]; });
}

Option Verb::flag(const std::string& name, bool& value, const std::string& help) {
  const auto state = std::make_shared<Option::State>();
  state->option = app_->add_flag_callback(
      name, [&value] { value = true; }, help);
  return Option(state);
}

Option Verb::flag(const std::string& name, std::function<void()> action, const std::string& help) {
  const auto state = std::make_shared<Option::State>();
  state->option = app_->add_flag_callback(
      name, [this, action] { action_ = action; }, help);
  return Option(state);
}

std::vector<Option> Verb::add_fields(const std::vector<config::Field>& fields,
                                     const std::vector<std::string_view>& arguments) {
  std::vector<Option> options;
  for (const config::Field& field : fields) {
    std::string name(field.name);
    std::replace(name.begin(), name.end(), '_', '-');
    if (std::ranges::find(arguments, field.name) == arguments.end()) name = "--" + name;
    options.push_back(add_field(name, option_help(field.help), field.value).demand(field.demand));
  }
  return options;
}

Option Verb::add_field(const std::string& name, const std::string& help,
                       const decltype(config::Field::value)& field) {
  return std::visit(
      [&]<typename Value>(const Value& value) -> Option {
        using Target = std::remove_pointer_t<Value>;
        if constexpr (std::is_same_v<Value, config::EnumField>)
          return add_choice(name, help, value.names,
                            std::string(value.names[value.read(value.member)]),
                            [value](size_t chosen) { value.write(value.member, chosen); });
        else if constexpr (std::is_same_v<Value, std::vector<config::Field>>)
          throw std::logic_error(fmt::format("{} is no value for a command line", name));
        else if constexpr (std::is_same_v<Target, bool>)
          return flag(name, *value, help);
        else if constexpr (std::is_arithmetic_v<Target> || std::is_same_v<Target, std::string>)
          return add_value<Target>(name, *value, help);
        else
          return add_value<typename Target::value_type>(name, *value, help);
      },
      field);
}

void Verb::read_environment(const std::string& prefix) {
  for (CLI::Option* option : app_->get_options()) {
    std::string name = option->get_name();
    if (!name.starts_with("--") || name.starts_with("--help")) continue;
    name = prefix + name.substr(2);
    std::replace(name.begin(), name.end(), '-', '_');
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    option->envname(name);
  }
}

void Verb::footer(std::function<std::string()> text) {
  app_->footer(std::move(text));
}

VerbHelp Verb::help() const {
  const HelpPage page;
  VerbHelp verb{.name = full_name(), .help = app_->get_description(), .footer = app_->get_footer()};
  const std::string usage = page.make_usage(app_, verb.name);  // "Usage: tessera …"
  verb.usage = CLI::detail::trim_copy(usage.substr(usage.find(verb.name)));
  for (const CLI::Option* option : app_->get_options()) {
    OptionHelp known{.names = CLI::detail::split(option->get_name(false, true), ','),
                     .value = CLI::detail::trim_copy(page.make_option_opts(option)),
                     .takes_value = option->get_type_size() > 0,
                     .help = option->get_description()};
    const std::string type = option->get_type_name();  // "float32|bf16" of a choice
    if (type.find('|') != std::string::npos) known.choices = CLI::detail::split(type, '|');
    (option->get_positional() ? verb.arguments : verb.options).push_back(std::move(known));
  }
  for (const auto& below : below_) verb.verbs.push_back(below->help());
  return verb;
}

void Verb::run(std::function<void()> action) {
  action_ = std::move(action);
}

/// Of "--exclude *.bak notes", notes is an argument where the verb takes any number of them, and no
/// second value of the option.
void Verb::give_options_one_value_beside_many_arguments() {
  const auto options = app_->get_options([](const CLI::Option* option) {
    return option->get_expected_max() == CLI::detail::expected_max_vector_size;
  });
  if (std::ranges::any_of(options, &CLI::Option::get_positional))
    for (CLI::Option* option : options) option->allow_extra_args(option->get_positional());
  for (const auto& verb : below_) verb->give_options_one_value_beside_many_arguments();
}

std::string Verb::full_name() const {
  return (above_ ? above_->full_name() + " " : "") + app_->get_name();
}

/// The deepest verb that the command line named.
const Verb& Verb::chosen() const {
  for (const auto& verb : below_)
    if (verb->app_->parsed()) return verb->chosen();
  return *this;
}

/// The verb of this name, however deep it lies.
const Verb* Verb::find(const std::string& name) const {
  if (app_->get_name() == name) return this;
  for (const auto& verb : below_)
    if (const Verb* found = verb->find(name)) return found;
  return nullptr;
}

/// What an unknown option or verb was probably meant to be: a verb below another one, or what is
/// spelt like it.
std::string Verb::suggestion_for(const std::string& unknown, const Verb& program) const {
  if (const Verb* verb = program.find(unknown))
    return fmt::format("; did you mean '{}'?", verb->full_name());
  std::vector<std::string> known;
  for (const auto* option : app_->get_options())
    for (const auto& name : option->get_lnames()) known.push_back("--" + name);
  for (const auto& verb : below_) known.push_back(verb->app_->get_name());
  const std::string name = unknown.substr(0, unknown.find('='));
  return std::ranges::find(known, name) == known.end() ? suggestion(name, known) : "";
}

std::function<void()> Verb::parse(int argc, const char* const* argv) {
  const auto refuse = [&](const std::string& message) {
    const Verb& verb = chosen();
    // What was misspelt leaves something else missing too; it says more.
    const auto unknown = app_->remaining(/*recurse=*/true);
    if (unknown.empty()) throw CommandLineError(verb.full_name(), message);
    const std::string first = unmarked(unknown.front());
    throw CommandLineError(verb.full_name(), fmt::format("unknown argument '{}'{}", first,
                                                         verb.suggestion_for(first, *this)));
  };
  give_options_one_value_beside_many_arguments();
  std::vector<std::string> arguments(argv, argv + argc);
  std::vector<const char*> pointers;
  for (std::string& argument : arguments) {
    argument = marked(argument);
    pointers.push_back(argument.c_str());
  }
  try {
    app_->parse(argc, pointers.data());
  } catch (const CLI::CallForHelp&) {
    if (!app_->remaining(true).empty()) refuse("");
    return [this] { fmt::print("{}", app_->help()); };
  } catch (const CLI::ParseError& error) {
    refuse(message_of(error));
  }
  const Verb& verb = chosen();
  if (!verb.action_) {
    std::vector<std::string> names;
    for (const auto& below : verb.below_) names.push_back(below->app_->get_name());
    refuse(fmt::format("which verb? There are {}", fmt::join(names, ", ")));
  }
  return verb.action_;
}

}  // namespace tessera::cli
