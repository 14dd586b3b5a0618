#include "tessera/infer/generate.h"

#include <ATen/ATen.h>

#include <numeric>

#include "tessera/base/interrupt.h"
#include "tessera/infer/text_stream.h"

namespace tessera {
namespace {

std::vector<Tokens> filled_prompts(const std::vector<Prompt>& prompts,
                                   const GenerateOptions& options) {
  std::vector<Tokens> result;
  for (size_t i = 0; i < prompts.size(); ++i) {
    result.push_back(prompts[i].tokens);
    if (!result.back().empty()) continue;
    if (!options.end_of_text)
      throw UsageError(
          "prompt {} is empty and the tokenizer has no end-of-text token to begin with; give at "
          "least one token",
          i);
    result.back() = {*options.end_of_text};
  }
  return result;
}

/// The texts that are being written: row r of the session is prompt active[r].
class Writer {
 public:
  Writer(const std::vector<Prompt>& prompts, const GenerateOptions& options,
         const OnToken& on_token, std::vector<Generation>& generations)
      : prompts_(prompts),
        options_(options),
        on_token_(on_token),
        generations_(generations),
        generated_(prompts.size()),
        streams_(prompts.size(), TextStream(options.stop)) {}

  /// Draws the next token of a prompt; returns it unless the text ends there.
  std::optional<int64_t> next(size_t prompt, std::span<const float> logits, const Tokens& context) {
    Generation& generation = generations_[prompt];
    const ScoredToken& token = generation.tokens.emplace_back(
        draw_token(logits, context, options_.sampling, prompts_[prompt].sequence));
    ++generated_[prompt];
    std::string text = new_text(prompt, token.token);
    std::optional<Finish> finish = reason_to_finish(prompt, token.token);
    if (finish) text += streams_[prompt].finish();
    generation.text += text;
    if (on_token_ && !on_token_({prompt, token, text, finish}) && !finish) {
      finish = Finish::kCancelled;
      generation.text += streams_[prompt].finish();
    }
    if (finish) generation.finish = *finish;
    return finish ? std::nullopt : std::optional(token.token);
  }

  void interrupt(size_t prompt) {
    generations_[prompt].text += streams_[prompt].finish();
    generations_[prompt].finish = Finish::kInterrupted;
  }

 private:
  std::string new_text(size_t prompt, int64_t token) {
    if (!options_.token_bytes || token == options_.end_of_text) return {};
    return streams_[prompt].push(options_.token_bytes(token));
  }

  std::optional<Finish> reason_to_finish(size_t prompt, int64_t token) const {
    if (token == options_.end_of_text) return Finish::kEndOfText;
    if (streams_[prompt].stopped()) return Finish::kStopString;
    if (generated_[prompt] == options_.max_tokens) return Finish::kMaxTokens;
    return std::nullopt;
  }

  const std::vector<Prompt>& prompts_;
  const GenerateOptions& options_;
  const OnToken& on_token_;
  std::vector<Generation>& generations_;
  std::vector<int64_t> generated_;  // tokens, per prompt
  std::vector<TextStream> streams_;
};

}  // namespace

void GenerateOptions::check() const {
  sampling.check();
  if (max_tokens < 0) throw UsageError("max_tokens is {}, expected 0 or more", max_tokens);
  if (!stop.empty() && !token_bytes)
    throw UsageError("stop strings were given, but no tokenizer to find them with");
}

std::vector<Generation> generate(LanguageModel& model, const std::vector<Prompt>& prompts,
                                 const GenerateOptions& options, const OnToken& on_token) {
  options.check();
  const std::vector<Tokens> begun = filled_prompts(prompts, options);
  std::vector<Generation> generations(prompts.size());
  Writer writer(prompts, options, on_token, generations);
  StreamingSession session(model, options.reading.value_or(natural_reading(model)), options.bound);
  if (options.echo) {
    auto scores = score_texts(model, begun, {options.sampling.alternatives, options.reading});
    for (size_t i = 0; i < prompts.size(); ++i) generations[i].tokens = std::move(scores[i]);
  }
  if (options.max_tokens == 0) return generations;

  std::vector<size_t> active(prompts.size());
  std::iota(active.begin(), active.end(), 0);
  at::Tensor logits = session.add(begun);
  while (!active.empty()) {
    if (InterruptGuard::interrupted()) {
      for (size_t prompt : active) writer.interrupt(prompt);
      break;
    }
    logits = logits.to(at::kFloat).contiguous();  // [B, V]
    const size_t V = logits.size(1);
    std::vector<size_t> going_on;
    std::vector<int64_t> rows;
    Tokens drawn;
    for (size_t row = 0; row < active.size(); ++row) {
      const auto token =
          writer.next(active[row], {logits.data_ptr<float>() + row * V, V}, session.tokens()[row]);
      if (!token) continue;
      going_on.push_back(active[row]);
      rows.push_back(row);
      drawn.push_back(*token);
    }
    session.select(rows);
    if (!rows.empty()) logits = session.step(drawn);
    active = std::move(going_on);
  }
  return generations;
}

}  // namespace tessera
