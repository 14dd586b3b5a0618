#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "tessera/memory/stored_pairs.h"
#include "tessera/model/sequence_model.h"

namespace tessera {

class LanguageModel;

using Tokens = std::vector<int64_t>;

/// How a session reads. kStreaming: every token once; the memories keep all pairs, or as many as
/// their bound allows. Without a bound the logits are those of the whole sequence read at once, at
/// any length, up to rounding: a few millionths in fp32 (with ALiBi positions 1.5e-4 after 40,000
/// tokens); with matrix products in bf16 a log-probability may differ by 0.03 nats. kWindowed: the
/// logits are those of the last window() tokens alone. Up to the window the two are the same and
/// the session streams; beyond, it reads the whole window again for each token. So do the scripts
/// of Zhang et al. 2024, and so must a model with learned positions.
enum class Reading { kStreaming, kWindowed };
constexpr std::array<std::string_view, 2> enum_names(Reading) {
  return {"streaming", "windowed"};
}

/// kStreaming for a model that can read past its window, else kWindowed.
Reading natural_reading(const LanguageModel& model);

/// Tokens of a long text that are read in one pass: enough for large matrix products, and few
/// enough that a signal is noticed soon.
constexpr int64_t kPieceTokens = 1024;

/// What is read: hidden [B, t, C] of the tokens from `first` on.
using OnHidden = std::function<void(const at::Tensor& hidden, int64_t first)>;

/// Reads tokens [B, T] on from `state`, kPieceTokens of each sequence at a time; returns the state
/// after them. No gradients. While an InterruptGuard lives, a signal ends it between two pieces: it
/// throws Interrupted. Throws what LanguageModel::read throws. What it throws after the first piece
/// takes the state with it: pass a copy where the old state is still needed then.
SequenceState read_pieces(LanguageModel& model, const at::Tensor& tokens, SequenceState&& state,
                          const OnHidden& on_hidden);

/// Sequences that a model reads side by side, one token of each at a time. A value: a copy is a
/// fork. The model must outlive it. No gradients. Logits lie on the CPU, whatever device the model
/// is on.
class StreamingSession {
 public:
  /// bound: of each contextual memory; only for kStreaming. Throws UsageError on a bound with
  /// kWindowed.
  StreamingSession(LanguageModel& model, Reading reading, MemoryBound bound = {});

  /// Reads prompts (of any lengths above 0; equal ones are read once) as further sequences.
  /// Returns the logits [prompts, V] of the token that follows each. Throws UsageError on an
  /// empty prompt, and what LanguageModel::read throws; Interrupted where a signal comes between
  /// two prompts or pieces of one, while an InterruptGuard lives. The session is then as before.
  at::Tensor add(const std::vector<Tokens>& prompts);
  /// Goes on with the sequences of another session of the same model, reading and bound, too,
  /// behind its own. Throws UsageError where it is of another.
  void append(StreamingSession&& other);
  /// Reads more tokens of every sequence, of each equally many; returns logits(). In an empty
  /// session they begin its sequences. Throws UsageError unless there are such, and what add()
  /// throws; the session is then as before.
  at::Tensor read(const std::vector<Tokens>& more);
  /// The same for one token of every sequence.
  at::Tensor step(const Tokens& tokens);
  /// Goes on with the chosen sequences, in this order; one may be chosen twice. Throws UsageError
  /// on one that does not exist.
  void select(const std::vector<int64_t>& rows);

  /// Writes the session to a safetensors file, atomically; a session loaded from it with an equal
  /// model goes on as this one would. Throws SystemError; UsageError on a session that
  /// has read nothing, or past the window of kWindowed, which has no state to keep.
  void save(const std::filesystem::path& path) const;
  /// Throws SystemError, or DataError where the file is damaged or is the session of another model.
  static StreamingSession load(LanguageModel& model, const std::filesystem::path& path);

  Reading reading() const { return reading_; }
  /// What every sequence has read.
  const std::vector<Tokens>& tokens() const { return tokens_; }
  /// The logits [B, V] of the token that follows each sequence. Throws UsageError on a session that
  /// has read nothing, and on one from a file of a build before version 0.1.0, which did not keep
  /// them, until it reads on.
  const at::Tensor& logits() const;

 private:
  bool streams(size_t longest) const;
  at::Tensor read_on(const std::vector<Tokens>& more);
  at::Tensor read_windows(const std::vector<Tokens>& sequences) const;
  SequenceOutput read_prompts(const std::vector<Tokens>& prompts) const;
  at::Tensor logits_of(const at::Tensor& hidden) const;

  LanguageModel* model_;
  Reading reading_;
  MemoryBound bound_;
  std::vector<Tokens> tokens_;
  at::Tensor logits_;                   // [B, V]
  std::optional<SequenceState> state_;  // none while empty, or past the window of kWindowed
};

/// Sequences [..] of unequal lengths as one tensor [B, longest], filled with token 0 on the right:
/// a causal model's output before the filling is not changed by it.
at::Tensor padded(const std::vector<Tokens>& sequences);

/// Bytes that the state of one sequence holds after `tokens` tokens (1 or more): found by reading
/// two, since a state that grows grows by as much with each token, until the bound.
double state_bytes(LanguageModel& model, int64_t tokens, MemoryBound bound = {});

}  // namespace tessera
