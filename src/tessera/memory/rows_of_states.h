#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/tensor/check.h"

// States whose rows are sequences: what their select() and stack() are made of.

namespace tessera {

/// Throws UsageError unless each of the chosen rows is one of `count`. what: "StoredPairs".
inline void check_rows(const std::vector<int64_t>& rows, int64_t count, std::string_view what) {
  for (int64_t row : rows)
    TESSERA_CHECK(row >= 0 && row < count, what, ": row ", row, " was chosen of ", count);
}

/// The chosen rows of a tensor; one may be chosen twice. Throws UsageError on a row that it does
/// not have.
inline at::Tensor chosen_rows(const at::Tensor& all, const std::vector<int64_t>& rows) {
  check_rows(rows, all.defined() ? all.size(0) : 0, "select");
  return all.index_select(0, at::tensor(rows, at::kLong).to(all.device()));
}

/// One tensor of every state, below one another. Throws UsageError where there is no state, or one
/// that has not started, and where their rows are of different sizes.
template <typename State>
at::Tensor stacked(const std::vector<const State*>& states, at::Tensor State::*part) {
  TESSERA_CHECK(!states.empty(), "stack: nothing to stack");
  std::vector<at::Tensor> parts;
  for (const State* state : states) {
    parts.push_back(state->*part);
    TESSERA_CHECK(parts.back().defined(), "stack: a state that has not started");
    TESSERA_CHECK(parts.back().sizes().slice(1) == parts.front().sizes().slice(1),
                  "stack: states of shapes ", parts.front().sizes(), " and ", parts.back().sizes(),
                  "; only those of equal models can be stacked");
  }
  return at::cat(parts);
}

/// The same of a part that is a state itself.
template <typename State, typename Part>
Part stacked(const std::vector<const State*>& states, Part State::*part) {
  std::vector<const Part*> parts;
  for (const State* state : states) parts.push_back(&(state->*part));
  return Part::stack(parts);
}

/// Goes on with each of the rows by itself: read(state of the row, row) changes that state. What it
/// returns, below one another.
template <typename State, typename Read>
at::Tensor row_by_row(State& state, int64_t rows, const Read& read) {
  std::vector<State> states;
  std::vector<at::Tensor> reads;
  for (int64_t row = 0; row < rows; ++row) {
    states.push_back(state.select({row}));
    reads.push_back(read(states.back(), row));
  }
  std::vector<const State*> parts;
  for (const State& one : states) parts.push_back(&one);
  state = State::stack(parts);
  return at::cat(reads);
}

/// The step [B, H, D] that a state keeps back, where there is one, and then those of a sequence
/// [B, T, H, D].
inline at::Tensor after(const at::Tensor& step, const at::Tensor& sequence) {
  return step.defined() ? at::cat({step.unsqueeze(1), sequence}, 1) : sequence;
}

}  // namespace tessera
