#include "tessera/infer/streaming_session.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "tessera/base/interrupt.h"
#include "tessera/memory/rows_of_states.h"
#include "tessera/model/language_model.h"
#include "tessera/tensor/check.h"

namespace tessera {
namespace {

constexpr int64_t kWindowTokens = 8192;  // read in one pass where whole windows are read

size_t longest_of(const std::vector<Tokens>& sequences) {
  size_t longest = 0;
  for (const auto& sequence : sequences) longest = std::max(longest, sequence.size());
  return longest;
}

/// The different sequences, and for each of the given ones which of these it is.
struct Distinct {
  std::vector<Tokens> sequences;
  std::vector<int64_t> which;

  explicit Distinct(const std::vector<Tokens>& all) {
    std::map<Tokens, int64_t> seen;
    for (const auto& sequence : all) {
      const auto [entry, is_new] = seen.try_emplace(sequence, seen.size());
      if (is_new) sequences.push_back(sequence);
      which.push_back(entry->second);
    }
  }
};

double bytes_after(LanguageModel& model, int64_t tokens) {
  const SequenceState state =
      model.read(at::zeros({1, tokens}, at::kLong), model.empty_state()).state;
  double bytes = 0;
  for (const auto& [name, tensor] : state.tensors()) bytes += tensor.nbytes();
  return bytes;
}

}  // namespace

Reading natural_reading(const LanguageModel& model) {
  return model.reads_past_window() ? Reading::kStreaming : Reading::kWindowed;
}

at::Tensor padded(const std::vector<Tokens>& sequences) {
  at::Tensor result =
      at::zeros({std::ssize(sequences), static_cast<int64_t>(longest_of(sequences))}, at::kLong);
  for (size_t row = 0; row < sequences.size(); ++row)
    std::copy(sequences[row].begin(), sequences[row].end(),
              result.data_ptr<int64_t>() + row * result.size(1));
  return result;
}

SequenceState read_pieces(LanguageModel& model, const at::Tensor& tokens, SequenceState&& state,
                          const OnHidden& on_hidden) {
  const int64_t length = tokens.size(1);
  for (int64_t first = 0; first < length; first += kPieceTokens) {
    if (first > 0) InterruptGuard::stop_if_interrupted("interrupted");
    const int64_t count = std::min(kPieceTokens, length - first);
    SequenceOutput read = model.read(tokens.narrow(1, first, count), std::move(state));
    state = std::move(read.state);
    on_hidden(read.outputs, first);
  }
  return std::move(state);
}

StreamingSession::StreamingSession(LanguageModel& model, Reading reading, MemoryBound bound)
    : model_(&model), reading_(reading), bound_(bound) {
  if (reading == Reading::kWindowed && bound.pairs > 0)
    throw UsageError(
        "a bound of {} pairs was given for windowed reading, where the window of {} tokens is the "
        "bound; leave it out, or read in streaming mode",
        bound.pairs, model.window());
}

bool StreamingSession::streams(size_t longest) const {
  const bool kept = state_ || tokens_.empty();
  return reading_ == Reading::kStreaming ||
         (kept && static_cast<int64_t>(longest) <= model_->window());
}

at::Tensor StreamingSession::add(const std::vector<Tokens>& prompts) {
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < prompts.size(); ++i)
    TESSERA_CHECK(!prompts[i].empty(), "StreamingSession: prompt ", i,
                  " is empty, expected at least one token");
  if (prompts.empty()) return at::zeros({0, model_->vocabulary()});
  if (!tokens_.empty()) logits();  // throws where they were not kept
  const Distinct distinct(prompts);
  StreamingSession added(*model_, reading_, bound_);
  added.tokens_ = prompts;
  at::Tensor logits;
  if (streams(longest_of(prompts))) {
    const SequenceOutput read = read_prompts(distinct.sequences);
    logits = logits_of(read.outputs);
    added.state_ = read.state.select(distinct.which);
  } else {
    logits = read_windows(distinct.sequences);
  }
  added.logits_ = chosen_rows(logits, distinct.which);
  logits = added.logits_;
  append(std::move(added));
  return logits;
}

void StreamingSession::append(StreamingSession&& other) {
  at::NoGradGuard no_grad;
  TESSERA_CHECK(
      model_ == other.model_ && reading_ == other.reading_ && bound_ == other.bound_,
      "StreamingSession::append: a session of another model, or with another reading or bound");
  if (other.tokens_.empty()) return;
  if (tokens_.empty()) {
    *this = std::move(other);
    return;
  }
  at::Tensor logits_of_both = at::cat({logits(), other.logits()});
  std::optional<SequenceState> state_of_both;
  if (state_ && other.state_) state_of_both = SequenceState::stack({&*state_, &*other.state_});
  tokens_.reserve(tokens_.size() + other.tokens_.size());  // from here on nothing throws
  logits_ = std::move(logits_of_both);
  state_ = std::move(state_of_both);
  std::ranges::move(other.tokens_, std::back_inserter(tokens_));
}

/// Each prompt by itself: the hidden states [prompts, C] after the last tokens, and the states.
SequenceOutput StreamingSession::read_prompts(const std::vector<Tokens>& prompts) const {
  std::vector<at::Tensor> last_hidden;
  std::vector<SequenceState> states;
  std::vector<const SequenceState*> parts;
  for (const auto& prompt : prompts) {
    if (!states.empty()) InterruptGuard::stop_if_interrupted("interrupted");
    last_hidden.emplace_back();  // [1, C]
    states.push_back(read_pieces(
        *model_, padded({prompt}), model_->bounded_state(bound_),
        [&](const at::Tensor& hidden, int64_t) { last_hidden.back() = hidden.select(1, -1); }));
  }
  if (states.size() == 1) return {last_hidden.front(), std::move(states.front())};
  for (const auto& state : states) parts.push_back(&state);
  return {at::cat(last_hidden), SequenceState::stack(parts)};
}

at::Tensor StreamingSession::read_windows(const std::vector<Tokens>& sequences) const {
  const int64_t longest = longest_of(sequences);
  const int64_t most = std::max<int64_t>(1, kWindowTokens / std::min(longest, model_->window()));
  std::vector<at::Tensor> last_hidden;
  for (size_t first = 0; first < sequences.size(); first += most) {
    if (first > 0) InterruptGuard::stop_if_interrupted("interrupted");
    std::vector<Tokens> windows;
    for (size_t row = first; row < std::min(first + most, sequences.size()); ++row) {
      const int64_t kept = std::min<int64_t>(sequences[row].size(), model_->window());
      windows.emplace_back(sequences[row].end() - kept, sequences[row].end());
    }
    const at::Tensor hidden = model_->hidden(padded(windows));  // [rows, T, C]
    for (size_t row = 0; row < windows.size(); ++row)
      last_hidden.push_back(hidden[row][windows[row].size() - 1].clone());
  }
  return logits_of(at::stack(last_hidden));
}

at::Tensor StreamingSession::step(const Tokens& tokens) {
  std::vector<Tokens> more;
  for (int64_t token : tokens) more.push_back({token});
  return read(more);
}

at::Tensor StreamingSession::read(const std::vector<Tokens>& more) {
  at::NoGradGuard no_grad;
  TESSERA_CHECK(!more.empty() && (tokens_.empty() || more.size() == tokens_.size()),
                "StreamingSession: got tokens for ", more.size(), " sequences of ", tokens_.size());
  for (const auto& tokens : more)
    TESSERA_CHECK(!tokens.empty() && tokens.size() == more.front().size(), "StreamingSession: got ",
                  tokens.size(), " tokens for one sequence and ", more.front().size(),
                  " for another; expected as many for each, at least one");
  if (tokens_.empty()) return add(more);
  if (streams(longest_of(tokens_) + more.front().size())) {
    logits_ = read_on(more);
  } else {
    std::vector<Tokens> extended = tokens_;
    for (size_t row = 0; row < more.size(); ++row)
      extended[row].insert(extended[row].end(), more[row].begin(), more[row].end());
    logits_ = read_windows(extended);
    state_.reset();
  }
  for (size_t row = 0; row < more.size(); ++row)
    tokens_[row].insert(tokens_[row].end(), more[row].begin(), more[row].end());
  return logits_;
}

at::Tensor StreamingSession::read_on(const std::vector<Tokens>& more) {
  at::Tensor last_hidden;  // [B, C]
  const auto read_from = [&](SequenceState&& state) {
    return read_pieces(
        *model_, padded(more), std::move(state),
        [&](const at::Tensor& hidden, int64_t) { last_hidden = hidden.select(1, -1); });
  };
  if (std::ssize(more.front()) <= kPieceTokens)
    state_ = read_from(std::move(*state_));
  else  // a later piece may throw
    state_ = read_from(SequenceState(*state_));
  return logits_of(last_hidden);
}

at::Tensor StreamingSession::logits_of(const at::Tensor& hidden) const {
  return model_->logits(hidden).to(at::kCPU);
}

const at::Tensor& StreamingSession::logits() const {
  check_argument(logits_.defined(),
                 "StreamingSession::logits: nothing was read yet, or the session comes from a file "
                 "of a build before version 0.1.0, which kept no logits; read at least one token "
                 "first");
  return logits_;
}

void StreamingSession::select(const std::vector<int64_t>& rows) {
  check_rows(rows, std::ssize(tokens_), "StreamingSession");
  std::vector<Tokens> chosen;
  for (int64_t row : rows) chosen.push_back(tokens_[row]);
  const bool all = chosen.size() == tokens_.size() && std::is_sorted(rows.begin(), rows.end()) &&
                   std::adjacent_find(rows.begin(), rows.end()) == rows.end();
  if (all) return;
  if (rows.empty())
    state_.reset();
  else if (state_)
    state_ = state_->select(rows);
  if (logits_.defined()) logits_ = chosen_rows(logits_, rows);
  tokens_ = std::move(chosen);
}

double state_bytes(LanguageModel& model, int64_t tokens, MemoryBound bound) {
  const double first = bytes_after(model, 1);
  const int64_t kept = bound.pairs > 0 ? std::min(tokens, bound.pairs) : tokens;
  return kept <= 1 ? first : first + (kept - 1) * (bytes_after(model, 2) - first);
}

}  // namespace tessera
