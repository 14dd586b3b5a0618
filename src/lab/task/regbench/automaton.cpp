#include "lab/task/regbench/automaton.h"

#include <algorithm>
#include <map>

#include "tessera/base/error.h"

namespace tessera::task {
namespace {

/// A class of states by number, for each state.
using Classes = std::vector<int64_t>;

/// Numbers states by their class and, for each edge, its symbol and the class it leads to.
Classes refined(const Automaton& automaton, const Classes& classes) {
  std::map<std::vector<int64_t>, int64_t> numbers;
  Classes finer;
  for (int64_t state = 0; state < automaton.states(); ++state) {
    std::vector<int64_t> signature = {classes[static_cast<size_t>(state)]};
    for (const auto& [symbol, target] : automaton.edges(state)) {
      signature.push_back(symbol);
      signature.push_back(classes[static_cast<size_t>(target)]);
    }
    finer.push_back(numbers.emplace(signature, std::ssize(numbers)).first->second);
  }
  return finer;
}

/// States with the same class have the same strings before them (Moore 1956).
Classes classes_of_equal_futures(const Automaton& automaton) {
  Classes classes(static_cast<size_t>(automaton.states()), 0);
  const auto count = [](const Classes& of) { return *std::max_element(of.begin(), of.end()) + 1; };
  while (true) {
    Classes finer = refined(automaton, classes);
    if (count(finer) == count(classes)) return finer;
    classes = std::move(finer);
  }
}

}  // namespace

Automaton::Automaton(std::vector<std::vector<Edge>> edges) : edges_(std::move(edges)) {
  check_argument(!edges_.empty(), "Automaton: there are no states");
  for (auto& out : edges_) {
    check_argument(!out.empty(), "Automaton: a state has no edge");
    std::sort(out.begin(), out.end(),
              [](const Edge& a, const Edge& b) { return a.symbol < b.symbol; });
    for (size_t i = 0; i < out.size(); ++i) {
      check_argument(i == 0 || out[i].symbol != out[i - 1].symbol,
                     "Automaton: two edges of a state have the symbol {}", out[i].symbol);
      check_argument(0 <= out[i].target && out[i].target < states(),
                     "Automaton: an edge leads to state {} of {}", out[i].target, states());
    }
  }
}

std::span<const Automaton::Edge> Automaton::edges(int64_t state) const {
  return edges_.at(static_cast<size_t>(state));
}

std::optional<int64_t> Automaton::after(int64_t state, int64_t symbol) const {
  for (const Edge& edge : edges(state))
    if (edge.symbol == symbol) return edge.target;
  return {};
}

Automaton Automaton::minimised() const {
  const Classes classes = classes_of_equal_futures(*this);
  std::map<int64_t, int64_t> numbers;  // class -> new state
  std::vector<int64_t> reached;        // a state of each, in the order of the new states
  const auto number_of = [&](int64_t state) {
    const auto [found, is_new] =
        numbers.emplace(classes[static_cast<size_t>(state)], std::ssize(numbers));
    if (is_new) reached.push_back(state);
    return found->second;
  };
  number_of(0);
  std::vector<std::vector<Edge>> smaller;
  while (smaller.size() < reached.size()) {
    std::vector<Edge> out;
    for (const Edge& edge : edges(reached[smaller.size()]))
      out.push_back({edge.symbol, number_of(edge.target)});
    smaller.push_back(std::move(out));
  }
  return Automaton(std::move(smaller));
}

}  // namespace tessera::task
