#include "tessera/infer/streaming_session.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

namespace tessera {
namespace {

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

}  // namespace

Reading natural_reading(const LanguageModel& model) {
  return model.reads_past_window() ? Reading::kStreaming : Reading::kWindowed;
}

at::Tensor padded(const std::vector<Tokens>& sequences) {
  at::Tensor result = at::zeros(
      {static_cast<int64_t>(sequences.size()), static_cast<int64_t>(longest_of(sequences))},
      at::kLong);
  for (size_t row = 0; row < sequences.size(); ++row)
    std::copy(sequences[row].begin(), sequences[row].end(),
              result.data_ptr<int64_t>() + row * result.size(1));
  return result;
}

StreamingSession::StreamingSession(LanguageModel& model, Reading reading, MemoryBound bound)
    : model_(&model), reading_(reading), bound_(bound) {
  if (reading == Reading::kWindowed && bound.pairs > 0)
    throw UsageError(
        "a bound of {} pairs was given for windowed reading, where the window of {} tokens is the "
        "bound; leave it out, or read in streaming mode",
        bound.pairs, model.window());
}

StreamingSession::StreamingSession(const StreamingSession& other)
    : model_(other.model_),
      reading_(other.reading_),
      bound_(other.bound_),
      tokens_(other.tokens_),
      state_(other.state_ ? other.state_->clone() : nullptr) {}

StreamingSession& StreamingSession::operator=(const StreamingSession& other) {
  return *this = StreamingSession(other);
}

bool StreamingSession::streams(size_t longest) const {
  const bool kept = state_ || tokens_.empty();
  return reading_ == Reading::kStreaming ||
         (kept && static_cast<int64_t>(longest) <= model_->window());
}

at::Tensor StreamingSession::add(const std::vector<Tokens>& prompts) {
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < prompts.size(); ++i)
    TORCH_CHECK_VALUE(!prompts[i].empty(), "StreamingSession: prompt ", i,
                      " is empty, expected at least one token");
  if (prompts.empty()) return at::zeros({0, model_->vocabulary()});
  const Distinct distinct(prompts);
  at::Tensor logits;
  std::unique_ptr<LanguageModelState> state;
  if (streams(longest_of(prompts))) {
    std::vector<at::Tensor> hidden;
    state = read_prompts(distinct.sequences, hidden)->select(distinct.which);
    if (state_) state = state_->stack({state.get()});
    logits = model_->logits(at::cat(hidden));
  } else {
    logits = read_windows(distinct.sequences);
  }
  state_ = std::move(state);
  tokens_.insert(tokens_.end(), prompts.begin(), prompts.end());
  return logits.index_select(0, at::tensor(distinct.which, at::kLong));
}

std::unique_ptr<LanguageModelState> StreamingSession::read_prompts(
    const std::vector<Tokens>& prompts, std::vector<at::Tensor>& last_hidden) const {
  std::vector<std::unique_ptr<LanguageModelState>> states;
  std::vector<const LanguageModelState*> others;
  for (const auto& prompt : prompts) {
    states.push_back(model_->empty_state(bound_));
    last_hidden.push_back(model_->read(padded({prompt}), *states.back()).select(1, -1));  // [1, C]
    if (states.size() > 1) others.push_back(states.back().get());
  }
  return others.empty() ? std::move(states.front()) : states.front()->stack(others);
}

at::Tensor StreamingSession::read_windows(const std::vector<Tokens>& sequences) const {
  std::vector<Tokens> windows;
  std::vector<at::Tensor> last_hidden;
  for (const auto& sequence : sequences) {
    const int64_t kept = std::min<int64_t>(sequence.size(), model_->window());
    windows.emplace_back(sequence.end() - kept, sequence.end());
  }
  const at::Tensor hidden = model_->hidden(padded(windows));  // [B, T, C]
  for (size_t row = 0; row < windows.size(); ++row)
    last_hidden.push_back(hidden[row][windows[row].size() - 1]);
  return model_->logits(at::stack(last_hidden));
}

at::Tensor StreamingSession::step(const Tokens& tokens) {
  at::NoGradGuard no_grad;
  TORCH_CHECK_VALUE(tokens.size() == tokens_.size() && !tokens.empty(), "StreamingSession: got ",
                    tokens.size(), " tokens for ", tokens_.size(), " sequences");
  std::vector<Tokens> extended;
  at::Tensor logits;
  if (streams(longest_of(tokens_) + 1)) {
    const at::Tensor now = at::tensor(tokens, at::kLong).unsqueeze(1);  // [B, 1]
    logits = model_->logits(model_->read(now, *state_).select(1, 0));
  } else {
    extended = tokens_;
    for (size_t row = 0; row < tokens.size(); ++row) extended[row].push_back(tokens[row]);
    logits = read_windows(extended);
    state_.reset();
  }
  for (size_t row = 0; row < tokens.size(); ++row) tokens_[row].push_back(tokens[row]);
  return logits;
}

void StreamingSession::select(const std::vector<int64_t>& rows) {
  std::vector<Tokens> chosen;
  for (int64_t row : rows) {
    TORCH_CHECK_VALUE(row >= 0 && row < static_cast<int64_t>(tokens_.size()),
                      "StreamingSession: row ", row, " was chosen of ", tokens_.size());
    chosen.push_back(tokens_[row]);
  }
  const bool all = chosen.size() == tokens_.size() && std::is_sorted(rows.begin(), rows.end()) &&
                   std::adjacent_find(rows.begin(), rows.end()) == rows.end();
  if (all) return;
  if (rows.empty())
    state_.reset();
  else if (state_)
    state_ = state_->select(rows);
  tokens_ = std::move(chosen);
}

}  // namespace tessera
