#include "lab/task/regbench/regbench.h"

#include <gtest/gtest.h>

#include <set>

#include "lab/task/sequence/draws.h"
#include "tessera/base/error.h"
#include "tessera/base/random.h"

namespace tessera::task {
namespace {

using Edges = std::vector<std::vector<Automaton::Edge>>;

/// Every string of exactly `length` symbols from a state on.
std::set<std::vector<int64_t>> strings(const Automaton& automaton, int64_t state, int64_t length) {
  std::set<std::vector<int64_t>> all;
  if (length == 0) return {{}};
  for (const auto& [symbol, target] : automaton.edges(state))
    for (std::vector<int64_t> rest : strings(automaton, target, length - 1)) {
      rest.insert(rest.begin(), symbol);
      all.insert(std::move(rest));
    }
  return all;
}

/// Any edges: self-loops, shared targets and unreachable states included.
Automaton drawn(uint64_t seed) {
  RandomStream random(seed);
  const int64_t states = draw_between(random, 1, 6);
  Edges edges(states);
  for (auto& out : edges)
    for (const int64_t symbol : draw_distinct(random, 2, draw_between(random, 1, 2)))
      out.push_back({symbol, draw_between(random, 0, states - 1)});
  return Automaton(std::move(edges));
}

TEST(Automaton, SortsItsEdges) {
  const Automaton automaton(Edges{{{5, 1}, {2, 0}}, {{7, 0}}});
  EXPECT_EQ(automaton.states(), 2);
  EXPECT_EQ(automaton.edges(0)[0], (Automaton::Edge{2, 0}));
  EXPECT_EQ(automaton.edges(0)[1], (Automaton::Edge{5, 1}));
}

TEST(Automaton, IsMinimisedByHand) {
  // 1 and 2 have the same future, 3 is never reached.
  const Automaton automaton(Edges{{{0, 2}, {1, 1}}, {{2, 0}}, {{2, 0}}, {{0, 1}}});
  EXPECT_EQ(automaton.minimised(), Automaton(Edges{{{0, 1}, {1, 1}}, {{2, 0}}}));
  // 1 and 2 have the same symbols, but lead to states with others.
  const Automaton different(Edges{{{0, 1}, {1, 2}}, {{2, 0}}, {{2, 3}}, {{5, 0}}});
  EXPECT_EQ(different.minimised(), different);
  // A circle of one symbol is one state.
  EXPECT_EQ(Automaton(Edges{{{4, 1}}, {{4, 2}}, {{4, 0}}}).minimised(), Automaton(Edges{{{4, 0}}}));
}

TEST(Automaton, TheSmallestHasTheSameStringsAndNoTwoStatesWithTheSameFuture) {
  int64_t smaller = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Automaton automaton = drawn(seed), small = automaton.minimised();
    EXPECT_EQ(strings(small, 0, 8), strings(automaton, 0, 8)) << seed;
    std::set<std::vector<std::set<std::vector<int64_t>>>> futures;
    for (int64_t state = 0; state < small.states(); ++state) {
      std::vector<std::set<std::vector<int64_t>>> future;
      for (int64_t length = 1; length <= small.states(); ++length)
        future.push_back(strings(small, state, length));
      EXPECT_TRUE(futures.insert(future).second) << seed << ", state " << state;
    }
    EXPECT_EQ(small.minimised(), small);
    if (small.states() < automaton.states()) ++smaller;
  }
  EXPECT_GT(smaller, 50);
}

TEST(Automaton, RefusesEdgesThatMakeNone) {
  EXPECT_THROW(Automaton(Edges{}), UsageError);
  EXPECT_THROW(Automaton(Edges{{{0, 1}}, {}}), UsageError);
  EXPECT_THROW(Automaton(Edges{{{0, 0}, {0, 0}}}), UsageError);
  EXPECT_THROW(Automaton(Edges{{{0, 1}}}), UsageError);
  EXPECT_THROW(Automaton(Edges{{{0, -1}}}), UsageError);
}

}  // namespace
}  // namespace tessera::task
