#pragma once

#include <functional>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/base/interrupt.h"
#include "tessera/data/token_memory.h"
#include "tessera/infer/streaming_session.h"

namespace tessera {

/// The mean cross entropy at every position of what is read, gathered over many texts.
class LossByPosition {
 public:
  LossByPosition() = default;
  /// totals: as totals() gives them, or sums of such.
  explicit LossByPosition(const at::Tensor& totals);

  /// windows [B, T + 1] int64: the tokens 0..T-1 are read, 1..T are predicted; those predicted from
  /// fewer than first + 1 tokens do not count. T may differ between calls.
  void add(LanguageModel& model, const at::Tensor& windows, int64_t first = 0);
  /// losses [B, T], nats, at the positions from `first` on.
  void add(const at::Tensor& losses, int64_t first);

  /// Nats per token after reading position + 1 tokens; NaN where nothing was added for this
  /// position; throws std::out_of_range past the last.
  double at(int64_t position) const { return sums_.at(position) / counts_.at(position); }
  int64_t positions() const { return std::ssize(sums_); }
  /// Nats per token over all positions; NaN before anything was added.
  double mean() const;
  int64_t tokens() const;  ///< predicted so far
  /// At each position the sum of the losses and the number of tokens, [2, positions] fp64.
  at::Tensor totals() const;

 private:
  std::vector<double> sums_;
  std::vector<int64_t> counts_;
};

/// How a text is read to predict each of its tokens but the first.
struct EvaluationOptions {
  Reading reading = Reading::kWindowed;
  int64_t stride = 0;
  int64_t batch = 8;
  /// Mixed with the model as MemoryMixture does, from the text's first token to its last. Not
  /// owned.
  const TokenMemory* memory = nullptr;
  /// Asked before each batch of windows, and before each text that is streamed or read with a
  /// memory, whether to evaluate it; empty: all are. Processes that take turns evaluate together
  /// what one alone would.
  std::function<bool()> takes_next = {};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("reading", reading,
          "how documents are read: windowed, cut into windows that are read one by one; streaming, "
          "each token predicted from everything before it in its document");
    field("stride", stride,
          "tokens from the start of one window to the next; each token is predicted once, in the "
          "first window that contains it (0: a whole window)",
          config::at_least(0));
    field("batch", batch, "windows evaluated together", config::at_least(1));
  }

  /// Throws UsageError that names the option and what it may be.
  void check(const LanguageModel& model) const;
};

/// Adds the loss of each token of a text [N] int64 but its first, where options.takes_next says so.
/// on_progress: tokens predicted. While an InterruptGuard lives, a signal ends it with Interrupted.
/// Throws UsageError on options that make no sense, on ids outside the vocabulary and on a text too
/// long to be read in streaming mode, by this model or with the memory of this machine.
void evaluate_text(LanguageModel& model, const at::Tensor& text, const EvaluationOptions& options,
                   LossByPosition& losses, const OnProgress& on_progress = {});

}  // namespace tessera
