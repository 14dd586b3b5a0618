#include "tessera/infer/generate.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/infer/memory_mixture.h"
#include "tessera/infer/text_stream.h"
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

/// A memory that has read a prompt, and learnt from the model's last window of it.
MemoryMixture mixture_after(LanguageModel& model, const Tokens& prompt, const TokenMemory& memory) {
  at::NoGradGuard no_grad;
  MemoryMixture mixture(memory);
  const int64_t first = std::max<int64_t>(0, std::ssize(prompt) - model.window());
  const Tokens window(prompt.begin() + first, prompt.end());
  const at::Tensor logits =
      model.logits(model.hidden(padded({window}))[0]).to(at::kCPU, at::kFloat).contiguous();
  const auto V = static_cast<size_t>(logits.size(1));
  for (int64_t t = 0; t < std::ssize(prompt); ++t) {
    if (const int64_t row = t - first - 1; row >= 0)
      mixture.predict({logits.data_ptr<float>() + row * logits.size(1), V});
    mixture.append(prompt[t]);
  }
  return mixture;
}

/// The texts that are being written.
class Writer {
 public:
  /// sequences: the random sequence of each text; prompts: its tokens that were given.
  Writer(std::vector<uint64_t> sequences, std::vector<size_t> prompts,
         const GenerateOptions& options, const OnToken& on_token)
      : sequences_(std::move(sequences)),
        prompts_(std::move(prompts)),
        options_(options),
        on_token_(on_token),
        generations_(prompts_.size()),
        streams_(prompts_.size(), TextStream(options.stop)) {}

  /// Mixes a memory into what is drawn for every text.
  void mix(std::vector<MemoryMixture> mixtures) { mixtures_ = std::move(mixtures); }

  /// Goes on with every sequence of the session, the texts in their order, until all have ended. A
  /// text that ends leaves the session, but for those that end last; the last token that was drawn
  /// for those is not read.
  void write(StreamingSession& session) {
    std::vector<size_t> active(generations_.size());
    std::iota(active.begin(), active.end(), 0);
    while (!active.empty()) {
      if (InterruptGuard::interrupted()) {
        for (size_t text : active) interrupt(text);
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
  ScoredToken draw(size_t text, std::span<const float> logits, const Tokens& context) {
    const auto drawn_from = [&](std::span<const float> mixed) {
      return draw_token(mixed, context, options_.sampling, sequences_[text], prompts_[text]);
    };
    if (mixtures_.empty()) return drawn_from(logits);
    MemoryMixture& mixture = mixtures_[text];
    std::vector<float> mixed(logits.begin(), logits.end());
    mixture.predict(logits);
    mixture.mix(mixed);
    ScoredToken token = drawn_from(mixed);
    mixture.append(token.token);
    return token;
  }

  /// Draws the next token of a text; returns it unless the text ends there.
  std::optional<int64_t> next(size_t text, std::span<const float> logits, const Tokens& context) {
    Generation& generation = generations_[text];
    const ScoredToken& token = generation.tokens.emplace_back(draw(text, logits, context));
    std::string piece = new_text(text, token.token);
    std::optional<Finish> finish = reason_to_finish(text, token.token);
    if (finish) piece += streams_[text].finish();
    generation.text += piece;
    if (on_token_ && !on_token_({text, token, piece, finish}) && !finish) {
      finish = Finish::kCancelled;
      generation.text += streams_[text].finish();
    }
    if (finish) generation.finish = *finish;
    return finish ? std::nullopt : std::optional(token.token);
  }

  void interrupt(size_t text) {
    generations_[text].text += streams_[text].finish();
    generations_[text].finish = Finish::kInterrupted;
  }

  std::string new_text(size_t text, int64_t token) {
    if (!options_.token_bytes || token == options_.end_of_text) return {};
    return streams_[text].push(options_.token_bytes(token));
  }

  std::optional<Finish> reason_to_finish(size_t text, int64_t token) const {
    if (token == options_.end_of_text) return Finish::kEndOfText;
    if (streams_[text].stopped()) return Finish::kStopString;
    if (std::ssize(generations_[text].tokens) == options_.max_tokens) return Finish::kMaxTokens;
    return std::nullopt;
  }

  std::vector<uint64_t> sequences_;
  std::vector<size_t> prompts_;
  const GenerateOptions& options_;
  const OnToken& on_token_;
  std::vector<Generation> generations_;
  std::vector<TextStream> streams_;
  std::vector<MemoryMixture> mixtures_;  // of the texts, or none
};

}  // namespace

void GenerateOptions::check() const {
  sampling.check();
  if (max_tokens < 0) throw UsageError("max_tokens is {}, expected 0 or more", max_tokens);
  if (!stop.empty() && !token_bytes)
    throw UsageError("stop strings were given, but no tokenizer to find them with");
  if (std::count(stop.begin(), stop.end(), "") > 0)
    throw UsageError("a stop string is empty; leave it out");
}

std::vector<Generation> generate(LanguageModel& model, const std::vector<Prompt>& prompts,
                                 const GenerateOptions& options, const OnToken& on_token) {
  options.check();
  const std::vector<Tokens> begun = filled_prompts(prompts, options);
  StreamingSession session(model, options.reading.value_or(natural_reading(model)), options.bound);
  std::vector<std::vector<ScoredToken>> scores(prompts.size());
  if (options.echo)
    scores = score_texts(model, begun, {options.sampling.alternatives, options.reading});

  std::vector<uint64_t> sequences;
  std::vector<size_t> lengths;
  for (size_t i = 0; i < prompts.size(); ++i) {
    sequences.push_back(prompts[i].sequence);
    lengths.push_back(begun[i].size());
  }
  Writer writer(std::move(sequences), std::move(lengths), options, on_token);
  if (options.max_tokens > 0) {
    if (options.memory) {
      std::vector<MemoryMixture> mixtures;
      for (const Tokens& prompt : begun)
        mixtures.push_back(mixture_after(model, prompt, *options.memory));
      writer.mix(std::move(mixtures));
    }
    session.add(begun);
    writer.write(session);
  }
  std::vector<Generation> generations = std::move(writer).generations();
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
  Writer writer({sequence}, {given}, options, on_token);
  if (options.max_tokens > 0) writer.write(session);
  Generation generation = std::move(std::move(writer).generations().front());
  if (session.tokens().front().size() < given + generation.tokens.size())
    session.step({generation.tokens.back().token});
  return generation;
}

}  // namespace tessera
