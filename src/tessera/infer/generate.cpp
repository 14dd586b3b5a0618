#include "tessera/infer/generate.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "tessera/base/consecutive.h"
#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/infer/memory_mixture.h"
#include "tessera/model/language_model.h"

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

/// A memory that has read a prompt, and learned from the model's last window of it.
MemoryMixture mixture_after(LanguageModel& model, const Tokens& prompt, const TokenMemory& memory) {
  at::NoGradGuard no_grad;
  MemoryMixture mixture(memory);
  const int64_t first = std::max<int64_t>(0, std::ssize(prompt) - model.window());
  const Tokens window(prompt.begin() + first, prompt.end());
  const at::Tensor logits =
      model.logits(model.hidden(padded({window}))[0]).to(at::kCPU, at::kFloat).contiguous();
  const size_t V = logits.size(1);
  for (int64_t t = 0; t < std::ssize(prompt); ++t) {
    if (const int64_t row = t - first - 1; row >= 0)
      mixture.predict({logits.data_ptr<float>() + row * logits.size(1), V});
    mixture.append(prompt[t]);
  }
  return mixture;
}

/// The texts that are being written.
class Texts {
 public:
  Texts(const GenerateOptions& options, const OnToken& on_token)
      : options_(options), on_token_(on_token) {}

  /// One more text, of this random sequence, after a prompt of so many tokens.
  void add(uint64_t sequence, size_t prompt) {
    writers_.emplace_back(options_, sequence, prompt);
    generations_.emplace_back();
  }
  /// Mixes a memory into what is drawn, one for each text in their order.
  void mix(MemoryMixture mixture) { mixtures_.push_back(std::move(mixture)); }

  /// Goes on with every sequence of the session, the texts in their order, until all have ended. A
  /// text that ends leaves the session, but for those that end last; the last token that was drawn
  /// for those is not read.
  void write(StreamingSession& session) {
    std::vector<size_t> active = consecutive<size_t>(generations_.size());
    while (!active.empty()) {
      if (InterruptGuard::interrupted()) {
        for (size_t text : active) end(text, Finish::kInterrupted);
        return;
      }
      const at::Tensor logits = session.logits().to(at::kFloat).contiguous();  // [B, V]
      const size_t V = logits.size(1);
      std::vector<size_t> going_on;
      std::vector<int64_t> rows;
      Tokens drawn;
      for (size_t row = 0; row < active.size(); ++row) {
        const auto token =
            next(active[row], {logits.data_ptr<float>() + row * V, V}, session.tokens()[row]);
        if (!token) continue;
        going_on.push_back(active[row]);
        rows.push_back(row);
        drawn.push_back(*token);
      }
      active = std::move(going_on);
      if (active.empty()) return;
      session.select(rows);
      session.step(drawn);
    }
  }

  std::vector<Generation> generations() && { return std::move(generations_); }

 private:
  /// Writes the next token of a text; returns it unless the text ends there.
  std::optional<int64_t> next(size_t text, std::span<const float> logits, const Tokens& context) {
    const Written written = draw(text, logits, context);
    Generation& generation = generations_[text];
    const ScoredToken& token = generation.tokens.emplace_back(*written.token);
    generation.text += written.text;
    const bool wanted = !on_token_ || on_token_({text, token, written.text, written.finish});
    if (written.finish)
      generation.finish = *written.finish;
    else if (!wanted)
      end(text, Finish::kCancelled);
    return wanted && !written.finish ? std::optional(token.token) : std::nullopt;
  }

  Written draw(size_t text, std::span<const float> logits, const Tokens& context) {
    if (mixtures_.empty()) return writers_[text].draw(logits, context);
    MemoryMixture& mixture = mixtures_[text];
    std::vector<float> mixed(logits.begin(), logits.end());
    mixture.predict(logits);
    mixture.mix(mixed);
    Written written = writers_[text].draw(mixed, context);
    mixture.append(written.token->token);
    return written;
  }

  void end(size_t text, Finish reason) {
    generations_[text].text += writers_[text].end(reason).text;
    generations_[text].finish = reason;
  }

  const GenerateOptions& options_;
  const OnToken& on_token_;
  std::vector<TextWriter> writers_;
  std::vector<Generation> generations_;
  std::vector<MemoryMixture> mixtures_;  // of the texts, or none
};

}  // namespace

std::vector<Generation> generate(LanguageModel& model, const std::vector<Prompt>& prompts,
                                 const GenerateOptions& options, const OnToken& on_token) {
  options.check();
  const std::vector<Tokens> begun = filled_prompts(prompts, options);
  StreamingSession session(model, options.reading.value_or(natural_reading(model)), options.bound);
  std::vector<std::vector<ScoredToken>> scores(prompts.size());
  if (options.echo)
    scores = score_texts(model, begun, {options.sampling.alternatives, options.reading});

  Texts texts(options, on_token);
  for (size_t i = 0; i < prompts.size(); ++i) texts.add(prompts[i].sequence, begun[i].size());
  if (options.max_tokens > 0) {
    if (options.memory)
      for (const Tokens& prompt : begun) texts.mix(mixture_after(model, prompt, *options.memory));
    session.add(begun);
    texts.write(session);
  }
  std::vector<Generation> generations = std::move(texts).generations();
  for (size_t i = 0; i < prompts.size(); ++i)
    generations[i].tokens.insert(generations[i].tokens.begin(), scores[i].begin(), scores[i].end());
  return generations;
}

Generation continue_text(StreamingSession& session, const GenerateOptions& options,
                         const OnToken& on_token, uint64_t sequence) {
  options.check();
  check_argument(session.tokens().size() == 1, "continue_text: a session of {} sequences, not one",
                 session.tokens().size());
  check_argument(options.memory == nullptr,
                 "continue_text: a memory cannot be mixed into a session");
  const size_t given = session.tokens().front().size();
  Texts text(options, on_token);
  text.add(sequence, given);
  if (options.max_tokens > 0) text.write(session);
  Generation generation = std::move(std::move(text).generations().front());
  if (session.tokens().front().size() < given + generation.tokens.size())
    session.step({generation.tokens.back().token});
  return generation;
}

}  // namespace tessera
