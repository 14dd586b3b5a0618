#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/base/error.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tessera::cli {

/// A command line that one verb does not understand.
class CommandLineError : public UsageError {
 public:
  CommandLineError(std::string verb, const std::string& message)
      : UsageError("{}", message), verb_(std::move(verb)) {}

  /// The full name of the verb: "tessera memo recall".
  const std::string& verb() const { return verb_; }

 private:
  std::string verb_;
};

/// An option or argument of a verb, and what must hold of it.
class Option {
 public:
  Option required(bool required = true);
  Option demand(const config::Demand& demand);
  Option at_least(double least);
  Option between(double least, double most);
  /// Whoever gives this option must give the other one too, or must not give it.
  Option needs(const Option& other);
  Option excludes(const Option& other);

 private:
  friend class Verb;
  struct State;
  explicit Option(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

/// What the help page says of an option or argument.
struct OptionHelp {
  std::vector<std::string> names{};  ///< "-h", "--help"; of an argument "store"
  std::string value{};       ///< "INT from 1 on (default 3)", of a flag "(not with --paper)"
  bool takes_value = false;  ///< a flag takes none
  std::vector<std::string> choices{};  ///< the values there are, where they are few
  std::string help{};
};

/// What the help page says of a verb and of those below it, for pages in other forms.
struct VerbHelp {
  std::string name{};   ///< the full one: "tessera memo recall"
  std::string usage{};  ///< "tessera memo recall [OPTIONS] store..."
  std::string help{}, footer{};
  std::vector<OptionHelp> arguments{}, options{};
  std::vector<VerbHelp> verbs{};
};

/// The help of a field as that of an option, which begins with a capital letter.
std::string option_help(std::string_view help_of_field);

/// A verb of the program: its options, its help page, and what it does. It is written like its help
/// page:
///
///     Verb& verb = program.verb("eval", "Loss and perplexity of a model on a text");
///     verb.option("--model", options->model, "Model directory").required();
///     verb.option("--batch", options->batch, "Windows read side by side").at_least(1);
///     verb.flag("--json", options->json, "Print a JSON object");
///     verb.run([options] { evaluate(*options); });
///
/// An option's name begins with dashes; a name without them is an argument, told by its place. The
/// value that a variable has when its option is added is the default, and the help shows it.
/// Numbers must fit their type. A text that is empty is refused, as a shell makes it of a variable
/// that has no value; what an optional text or one of several means that is empty is for the verb
/// to say. The variables must live until the verb has run.
class Verb {
 public:
  /// The program itself.
  Verb(const std::string& name, const std::string& help);
  ~Verb();

  /// A verb below this one.
  Verb& verb(std::string_view name, std::string_view help);

  /// A number, a text, one of the names of an enum, or several numbers or texts: such an option may
  /// be given several times, and several values at a time, but beside arguments of any number.
  template <typename Value>
  Option option(const std::string& name, Value& value, const std::string& help) {
    if constexpr (config::NamedEnum<Value>)
      return add_field(name, help, config::enum_field(value));
    else
      return add_field(name, help, &value);
  }
  template <config::NamedEnum Enum>
  Option option(const std::string& name, std::optional<Enum>& value, const std::string& help) {
    return add_choice(name, help, enum_names(Enum{}), "",
                      [&value](size_t chosen) { value = static_cast<Enum>(chosen); });
  }
  /// One of these names, which no enum has.
  Option option(const std::string& name, std::string& value,
                const std::vector<std::string_view>& names, const std::string& help);
  /// False unless it is given.
  Option flag(const std::string& name, bool& value, const std::string& help);
  /// Does something instead of what the verb does.
  Option flag(const std::string& name, std::function<void()> action, const std::string& help);

  /// An option for each field of a request, with its help, its default and what is demanded of it:
  /// the field error_rate is --error-rate. arguments: fields that are told by their place.
  template <config::Configuration Request>
  std::vector<Option> options(Request& request,
                              const std::vector<std::string_view>& arguments = {}) {
    return add_fields(config::fields_of(request), arguments);
  }

  /// Each option added so far may also be given by an environment variable, `prefix` and its name
  /// in capitals: --max-body by TESSERA_MAX_BODY. The command line goes first.
  void read_environment(const std::string& prefix);

  /// What stands below the options on the help page; made when it is asked for.
  void footer(std::function<std::string()> text);
  /// All that the help page says, also of the verbs below.
  VerbHelp help() const;
  /// What the verb does. A verb that does nothing itself has verbs below it, one of which must be
  /// named.
  void run(std::function<void()> action);

  /// Of the program itself: reads the command line into the variables and returns what it asks for,
  /// a verb's action or printing a help page. Throws CommandLineError.
  std::function<void()> parse(int argc, const char* const* argv);

 private:
  Verb(CLI::App* app, const Verb* above);
  Option add(const std::string& name, const std::string& help, const std::string& initial,
             Option::State value);
  template <typename Value, typename Target>
  Option add_value(const std::string& name, Target& target, const std::string& help);
  Option add_choice(const std::string& name, const std::string& help,
                    std::span<const std::string_view> names, const std::string& initial,
                    std::function<void(size_t)> choose);
  std::vector<Option> add_fields(const std::vector<config::Field>& fields,
                                 const std::vector<std::string_view>& arguments);
  Option add_field(const std::string& name, const std::string& help,
                   const decltype(config::Field::value)& value);
  void give_options_one_value_beside_many_arguments();
  std::string full_name() const;
  const Verb& chosen() const;
  const Verb* find(const std::string& name) const;
  std::string suggestion_for(const std::string& unknown, const Verb& program) const;

  std::unique_ptr<CLI::App> program_;  // of the program itself
  CLI::App* app_;
  const Verb* above_ = nullptr;
  std::vector<std::unique_ptr<Verb>> below_;
  std::function<void()> action_;
};

}  // namespace tessera::cli
