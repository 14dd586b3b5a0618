// tessera generate [--model DIR] --prompt TEXT

#include "tessera/infer/generate.h"

#include <algorithm>
#include <span>

#include "program/cli/program.h"
#include "program/jobs/file_documents.h"
#include "program/model_cli/model_verbs.h"
#include "program/model_cli/packaged_examples.h"
#include "program/model_cli/text_writing.h"
#include "program/model_jobs/model_jobs.h"
#include "tessera/base/error.h"
#include "tessera/base/number.h"
#include "tessera/base/utf8.h"
#include "tessera/model/language_model.h"

namespace tessera::cli {
namespace {

struct GenerateArguments {
  GenerateCommand command;
  std::string store;
  std::vector<std::string> prompt_files, logit_bias;
  std::optional<Eviction> eviction;
  bool interactive = false;
};

/// Of a file or, for "-", of standard input; without the line end of its last line. Throws as
/// jobs::read_input() and utf8::check_bytes().
std::string prompt_from(const std::string& file) {
  std::string text = jobs::read_input(file);
  utf8::check_bytes(text, jobs::name_of_input(file));
  if (text.ends_with('\n')) {
    text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
  }
  return text;
}

/// "ID=BIAS".
std::pair<int64_t, double> parse_bias(const std::string& text) {
  const size_t equals = std::min(text.find('='), text.size());
  const auto token = number_from<int64_t>(text.substr(0, equals));
  const auto bias = number_from<double>(text.substr(std::min(equals + 1, text.size())));
  if (!token || !bias)
    throw UsageError("--logit-bias is '{}', expected ID=BIAS, such as 198=-2.5 or 198=-inf", text);
  return {*token, *bias};
}

/// Whatever is wrong with the options alone, before a model is loaded or a word is printed.
void check_options(const GenerateArguments& options) {
  const GenerateCommand& command = options.command;
  command.generate.sampling.check();
  if (command.generate.sampling.alternatives > 0 && !command.json)
    throw UsageError("--alternatives are printed with --json only; give both");
  if (command.placement.pairs && command.generate.reading == Reading::kWindowed)
    throw UsageError(
        "--pairs: leave out --reading windowed, where every window begins with empty memories");
  if (options.eviction && command.generate.bound.pairs == 0)
    throw UsageError("--eviction needs --memory-bound, the number of pairs that a memory keeps");
  const auto from_input = std::count(options.prompt_files.begin(), options.prompt_files.end(), "-");
  if (from_input > 1 || (from_input > 0 && options.interactive))
    throw UsageError("--prompt-file -: standard input is read once");
  const size_t prompts = std::max(options.prompt_files.size(), command.prompts.size());
  const bool sessions = !command.load_session.empty() || !command.save_session.empty();
  if (prompts > 1 && (sessions || options.interactive))
    throw UsageError("{} prompts were given; {} goes on with one text", prompts,
                     options.interactive ? "--interactive" : "a session");
  if (command.samples > 1 && !command.save_session.empty())
    throw UsageError("--save-session keeps one text; leave --samples out");
}

void run_generate(GenerateArguments& options) {
  GenerateCommand& command = options.command;
  for (const auto& text : options.logit_bias) {
    const auto bias = parse_bias(text);
    if (!command.generate.sampling.logit_bias.insert(bias).second)
      throw UsageError("--logit-bias names token {} twice", bias.first);
  }
  check_options(options);
  if (!options.prompt_files.empty()) command.prompts.clear();
  for (const auto& file : options.prompt_files) command.prompts.push_back(prompt_from(file));
  if (command.model.empty()) {
    command.model = packaged_model().native();
    say("using the model that comes with Tessera, {}; --model chooses another\n", command.model);
  }
  const ModelFolder folder = ModelFolder::load(command.model, command.placement);
  for (size_t i = 0; i < command.prompts.size(); ++i) {
    const auto encode = [&] { folder.encode(command.prompts[i]); };
    if (options.prompt_files.empty())
      jobs::on_given_text(encode, "--prompt: ");
    else
      saying_source(jobs::name_of_input(options.prompt_files[i]), encode);
  }
  GenerateOptions& generate = command.generate;
  for (const auto& [token, bias] : generate.sampling.logit_bias)
    if (token < 0 || token >= folder.model->vocabulary())
      throw UsageError("--logit-bias names token {}, the model has tokens 0 to {}", token,
                       folder.model->vocabulary() - 1);
  generate.bound.eviction = options.eviction.value_or(Eviction::kOldest);
  generate = folder.with_tokenizer(generate);
  const auto memory = store_memory(folder, command.model, options.store);
  generate.memory = memory.get();
  if (options.interactive)
    write_in_turns(command, folder);
  else if (command.beams)
    write_beams(command, folder);
  else
    write_samples(command, folder);
}

/// How long the texts are, and how their tokens are drawn, which is not for a search.
void add_writing(Verb& verb, GenerateArguments& options, const Option& beam) {
  const auto writing = verb.options(static_cast<WritingOptions&>(options.command.generate));
  for (Option drawing : std::span(writing).subspan(2)) drawing.excludes(beam);
  verb.option(
          "--logit-bias", options.logit_bias,
          "ID=BIAS: added to the logit of this token, -inf forbids it; may be given several times")
      .excludes(beam);
}

/// What stays in the memories, and where it is kept.
void add_state(Verb& verb, GenerateArguments& options, const Option& beam, const Option& store) {
  GenerateCommand& command = options.command;
  const Option load =
      verb.option("--load-session", command.load_session,
                  "Continue the text of this session, which has its own reading and memory bound")
          .excludes(beam)
          .excludes(store);
  verb.option("--save-session", command.save_session,
              "Write the session to this file, for --load-session")
      .excludes(beam)
      .excludes(store);
  verb.option("--reading", command.generate.reading,
              "streaming: memories keep everything; windowed: the last window is read again for "
              "each token, as the authors' scripts do")
      .excludes(load);
  verb.option("--memory-bound", command.generate.bound.pairs,
              "Maximum number of pairs that each contextual memory keeps (0: all)")
      .at_least(0)
      .excludes(load);
  verb.option("--eviction", options.eviction,
              "With --memory-bound: which pair is dropped first (oldest unless given)");
}

}  // namespace

void add_generate(Verb& program) {
  auto options = std::make_shared<GenerateArguments>();
  GenerateCommand& command = options->command;
  Verb& verb = program.verb(jobs::Generate::kName, jobs::Generate::kHelp);
  verb.option("--model", command.model,
              "Model directory (unless given, the model of short stories that comes with Tessera)");
  add_placement(verb, command.placement);
  const Option prompt =
      verb.option("--prompt", command.prompts, "Text to continue; may be given several times");
  verb.option("--prompt-file", options->prompt_files,
              "Read the prompt from this file (-: standard input), without the newline at its end")
      .excludes(prompt);
  const Option store = verb.option("--store", options->store, kStoreHelp);
  const Option beam =
      verb.option("--beam", command.beams, "Beam search with this many beams instead of sampling")
          .at_least(1)
          .excludes(store);
  verb.option("--length-penalty", command.length_penalty,
              "With --beam: divide log-probabilities by the length to this power (1 unless given)")
      .at_least(0)
      .needs(beam);
  const Option samples =
      verb.option("--samples", command.samples,
                  "Continue each prompt this many times, each time with other random numbers")
          .between(1, 1e9)
          .excludes(beam);
  add_writing(verb, *options, beam);
  add_state(verb, *options, beam, store);
  verb.flag("--interactive", options->interactive,
            "Continue after every line of standard input; Ctrl-C stops a continuation, the end of "
            "the input ends the program")
      .excludes(beam)
      .excludes(samples)
      .excludes(store);
  verb.flag("--json", command.json,
            "Print one JSON object per continuation, with log-probabilities");
  verb.run([options] { run_generate(*options); });
}

}  // namespace tessera::cli
