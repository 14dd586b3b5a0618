// tessera generate --model DIR --prompt TEXT

#include "tessera/infer/generate.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "tessera/base/interrupt.h"
#include "tessera/cli/model_folder.h"
#include "tessera/cli/program.h"
#include "tessera/infer/beam_search.h"

namespace tessera::cli {
namespace {

struct Options {
  std::string model, reading, eviction = "oldest";
  std::vector<std::string> prompts, stop;
  GenerateOptions generate;
  int64_t beams = 0, bound = 0;
  bool json = false, ignore_end = false;
};

/// An empty prompt begins a new text.
Tokens encode_prompt(const Tokenizer& tokenizer, const std::string& text) {
  const auto ids = tokenizer.encode(text, SpecialTokens::kRecognised);
  if (!ids.empty()) return {ids.begin(), ids.end()};
  if (const auto end = tokenizer.end_of_text()) return {*end};
  throw UsageError(
      "--prompt is empty, and the tokenizer has no end of text to begin a new text with; give a "
      "--prompt");
}

/// One JSON object a prompt, a line each.
config::Json as_json(const std::string& prompt, const Generation& generation) {
  config::Json json = {{"prompt", prompt},
                       {"text", generation.text},
                       {"finish", config::enum_name(generation.finish)},
                       {"tokens", config::Json::array()}};
  for (const auto& token : generation.tokens) {
    config::Json one = {{"id", token.token}};
    if (token.log_probability) one["log_probability"] = *token.log_probability;
    for (const auto& choice : token.alternatives)
      one["alternatives"].push_back(
          {{"id", choice.token}, {"log_probability", choice.log_probability}});
    json["tokens"].push_back(one);
  }
  return json;
}

void search(const Options& options, const ModelFolder& folder) {
  BeamOptions beam;
  beam.beams = options.beams;
  beam.max_tokens = options.generate.max_tokens;
  beam.end_of_text = options.generate.end_of_text;
  beam.reading = options.generate.reading;
  beam.bound = options.generate.bound;
  const InterruptGuard interrupt;
  for (const auto& prompt : options.prompts) {
    for (const auto& found :
         beam_search(*folder.model, encode_prompt(folder.tokenizer, prompt), beam)) {
      Tokens written = found.tokens;
      if (found.ended) written.pop_back();
      const std::string text = folder.text_of(written);
      if (options.json)
        print_json(
            {{"prompt", prompt},
             {"text", text},
             {"finish", config::enum_name(found.ended ? Finish::kEndOfText : Finish::kMaxTokens)},
             {"tokens", found.tokens},
             {"log_probability", found.log_probability}});
      else
        fmt::print("{:9.3f}  {}{}\n", found.log_probability, prompt, text);
    }
    if (InterruptGuard::interrupted()) throw Interrupted("interrupted");
  }
}

/// A single prompt streams to stdout as it is written; several come out one after the other.
void sample(const Options& options, const ModelFolder& folder) {
  std::vector<Prompt> prompts;
  for (const auto& prompt : options.prompts)
    prompts.push_back({encode_prompt(folder.tokenizer, prompt)});
  const bool stream = prompts.size() == 1 && !options.json;
  if (stream) fmt::print("{}", options.prompts.front());

  const InterruptGuard interrupt;
  int64_t tokens = 0;
  const auto started = std::chrono::steady_clock::now();
  const auto generations =
      generate(*folder.model, prompts, options.generate, [&](const GeneratedToken& token) {
        ++tokens;
        if (stream) {
          fmt::print("{}", token.text);
          std::fflush(stdout);
        }
        return true;
      });
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();

  if (stream) fmt::print("\n");
  for (size_t i = 0; !stream && i < generations.size(); ++i) {
    if (options.json)
      print_json(as_json(options.prompts[i], generations[i]));
    else
      fmt::print("{}{}\n", options.prompts[i], generations[i].text);
  }
  fmt::print(stderr, "{} tokens, {:.1f} tokens/s\n", tokens, tokens / seconds);
  if (InterruptGuard::interrupted()) throw Interrupted("interrupted");
}

/// A model that reads no further than its window cannot stream past it.
void check_window(const Options& options, const ModelFolder& folder) {
  if (options.generate.reading != Reading::kStreaming || folder.model->reads_past_window()) return;
  for (const auto& prompt : options.prompts) {
    const auto tokens = static_cast<int64_t>(encode_prompt(folder.tokenizer, prompt).size());
    if (tokens + options.generate.max_tokens > folder.model->window() + 1)
      throw UsageError(
          "--reading streaming: a prompt of {} tokens and {} more do not fit the window of {} "
          "tokens, past which a {} reads nothing; leave --reading out, or lower --max-tokens",
          tokens, options.generate.max_tokens, folder.model->window(), folder.model->kind());
  }
}

void run(Options& options) {
  const ModelFolder folder = ModelFolder::load(options.model);
  GenerateOptions& generate = options.generate;
  if (!options.reading.empty())
    generate.reading = config::enum_value<Reading>(options.reading, "--reading");
  generate.bound = {options.bound, config::enum_value<Eviction>(options.eviction, "--eviction")};
  if (const auto end = folder.tokenizer.end_of_text(); end && !options.ignore_end)
    generate.end_of_text = *end;
  generate.token_bytes = folder.token_bytes();
  check_window(options, folder);
  if (options.beams > 0)
    search(options, folder);
  else
    sample(options, folder);
}

}  // namespace

void add_generate(CLI::App& program) {
  auto options = std::make_shared<Options>();
  GenerateOptions& generate = options->generate;
  SamplingOptions& sampling = generate.sampling;
  CLI::App* verb = program.add_subcommand("generate", "Write text, one token at a time");
  verb->add_option("--model", options->model, "Model directory")->required();
  verb->add_option("--prompt", options->prompts, "Text to go on from; may be given several times")
      ->default_val(std::vector<std::string>{""});
  verb->add_option("--max-tokens", generate.max_tokens, "Longest continuation")
      ->capture_default_str();
  const std::vector<CLI::Option*> of_sampling = {
      verb->add_option("--temperature", sampling.temperature,
                       "Divides the logits; 0 takes the most probable token"),
      verb->add_option("--top-k", sampling.top_k, "Draw from the k most probable tokens (0: all)"),
      verb->add_option("--top-p", sampling.top_p,
                       "Draw from the fewest tokens that together have this probability"),
      verb->add_option("--repetition-penalty", sampling.repetition_penalty,
                       "Above 1 makes tokens of the context less probable"),
      verb->add_option("--seed", sampling.seed, "Same seed, same text"),
      verb->add_option("--alternatives", sampling.alternatives,
                       "With --json: so many of the most probable tokens beside each"),
      verb->add_option("--stop", generate.stop,
                       "Text that ends the continuation; may be repeated")};
  CLI::Option* beam = verb->add_option("--beam", options->beams,
                                       "Beam search with so many beams instead of sampling")
                          ->check(CLI::PositiveNumber);
  for (CLI::Option* option : of_sampling) {
    if (option->get_items_expected_max() == 1) option->capture_default_str();
    option->excludes(beam);
  }
  verb->add_flag("--ignore-end", options->ignore_end, "Write on past the end-of-text token");
  verb->add_option("--reading", options->reading,
                   "streaming: memories keep everything; windowed: the last window is read anew "
                   "for each token, as the authors' scripts do");
  verb->add_option("--memory-bound", options->bound,
                   "Most pairs a contextual memory keeps (0: all)")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--eviction", options->eviction, "Which pair makes room: oldest or least-used")
      ->capture_default_str();
  verb->add_flag("--json", options->json, "One JSON object a prompt, with log-probabilities");
  verb->callback([options] { run(*options); });
}

}  // namespace tessera::cli
