#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tessera::task {

/// A probabilistic finite automaton (Akyürek et al. 2024, section 3): states 0, 1, … of which 0 is
/// the first and all are accepting. Every edge out of a state is equally likely, so that the
/// distribution of the next symbol is uniform over the symbols of these edges. An edge per state
/// at least: a string can always go on.
class Automaton {
 public:
  struct Edge {
    int64_t symbol;
    int64_t target;
    bool operator==(const Edge&) const = default;
  };

  /// edges[s]: those out of state s. Throws UsageError where a state has none or two
  /// of the same symbol, or an edge leads nowhere.
  explicit Automaton(std::vector<std::vector<Edge>> edges);

  int64_t states() const { return static_cast<int64_t>(edges_.size()); }
  /// Sorted by symbol.
  std::span<const Edge> edges(int64_t state) const;
  /// The state after a symbol; none where no edge of the state has it.
  std::optional<int64_t> after(int64_t state, int64_t symbol) const;
  /// The smallest automaton with the same strings and probabilities: states that cannot be reached
  /// are left out, those with the same future are one. States are numbered in the order in which
  /// they are first reached from state 0, breadth first, by symbol.
  Automaton minimised() const;

  bool operator==(const Automaton&) const = default;

 private:
  std::vector<std::vector<Edge>> edges_;
};

}  // namespace tessera::task
