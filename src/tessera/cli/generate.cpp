// tessera generate --model DIR --prompt TEXT

#include "tessera/infer/generate.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "tessera/base/config.h"
#include "tessera/base/interrupt.h"
#include "tessera/cli/model_folder.h"
#include "tessera/cli/program.h"
#include "tessera/infer/beam_search.h"

namespace tessera::cli {
namespace {

struct Options {
  std::string model;
  std::vector<std::string> prompts = {""};
  GenerateOptions generate;
  std::optional<Eviction> eviction;
  std::optional<int64_t> beams;
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
  beam.beams = *options.beams;
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

/// Whatever is wrong with the options alone, before a model is loaded or a word is printed.
void check_options(const Options& options) {
  options.generate.sampling.check();
  if (options.generate.sampling.alternatives > 0 && !options.json)
    throw UsageError("--alternatives are printed with --json only; give both");
  if (options.eviction && options.generate.bound.pairs == 0)
    throw UsageError("--eviction says what leaves a bounded memory; give --memory-bound too");
}

void run(Options& options) {
  check_options(options);
  const ModelFolder folder = ModelFolder::load(options.model);
  GenerateOptions& generate = options.generate;
  generate.bound.eviction = options.eviction.value_or(Eviction::kOldest);
  if (const auto end = folder.tokenizer.end_of_text(); end && !options.ignore_end)
    generate.end_of_text = *end;
  generate.token_bytes = folder.token_bytes();
  check_window(options, folder);
  if (options.beams)
    search(options, folder);
  else
    sample(options, folder);
}

void add_sampling(Verb& verb, GenerateOptions& generate, const Option& beam) {
  SamplingOptions& sampling = generate.sampling;
  verb.option("--temperature", sampling.temperature,
              "Divides the logits; 0 always takes the most probable token")
      .at_least(0)
      .excludes(beam);
  verb.option("--top-k", sampling.top_k, "Sample from the k most probable tokens (0: all)")
      .at_least(0)
      .excludes(beam);
  verb.option("--top-p", sampling.top_p,
              "Sample from the smallest set of tokens that together have this probability")
      .between(0, 1)
      .excludes(beam);
  verb.option("--repetition-penalty", sampling.repetition_penalty,
              "Above 1: tokens that the context contains become less probable")
      .at_least(0)
      .excludes(beam);
  verb.option("--seed", sampling.seed, "Random seed; the same seed gives the same text")
      .excludes(beam);
  verb.option("--alternatives", sampling.alternatives,
              "With --json: report this many of the most probable tokens at each step")
      .at_least(0)
      .excludes(beam);
  verb.option("--stop", generate.stop, "Stop before this text; may be given several times")
      .excludes(beam);
}

}  // namespace

void add_generate(Verb& program) {
  auto options = std::make_shared<Options>();
  GenerateOptions& generate = options->generate;
  Verb& verb = program.verb("generate", "Generate text, one token at a time");
  verb.option("--model", options->model, "Model directory").required();
  verb.option("--prompt", options->prompts, "Text to continue; may be given several times");
  verb.option("--max-tokens", generate.max_tokens, "Most tokens to generate").at_least(0);
  const Option beam =
      verb.option("--beam", options->beams, "Beam search with this many beams instead of sampling")
          .at_least(1);
  add_sampling(verb, generate, beam);
  verb.flag("--ignore-end", options->ignore_end, "Continue past the end-of-text token");
  verb.option("--reading", generate.reading,
              "streaming: memories keep everything; windowed: the last window is read again for "
              "each token, as the authors' scripts do");
  verb.option("--memory-bound", generate.bound.pairs,
              "Most pairs that each contextual memory keeps (0: all)")
      .at_least(0);
  verb.option("--eviction", options->eviction,
              "With --memory-bound: which pair is dropped first (oldest unless given)");
  verb.flag("--json", options->json, "Print one JSON object per prompt, with log-probabilities");
  verb.run([options] { run(*options); });
}

}  // namespace tessera::cli
