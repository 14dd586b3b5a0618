#include "lab/task/regbench/regbench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

using test::message_of;
using testing::HasSubstr;

std::vector<std::string> strings_of(const std::string& text) {
  std::vector<std::string> strings = {""};
  for (const char c : text)
    if (c == '|')
      strings.emplace_back();
    else
      strings.back() += c;
  return strings;
}

TEST(RegBench, HasThePapersSizes) {
  const RegBench task{RegBenchConfig{}};
  EXPECT_EQ(task.vocabulary(), 20);
  EXPECT_EQ(task.longest(), 949);
  std::set<int64_t> strings_seen, lengths_seen, edges_seen, states_seen;
  std::set<char> letters_seen;
  for (int64_t index = 0; index < 400; ++index) {
    const Automaton automaton = task.automaton(1, index);
    states_seen.insert(automaton.states());
    for (int64_t state = 0; state < automaton.states(); ++state)
      edges_seen.insert(std::ssize(automaton.edges(state)));
    const auto sequence = task.sequence(automaton, 2, index);
    const auto strings = strings_of(task.text(sequence.tokens));
    strings_seen.insert(std::ssize(strings));
    for (const auto& string : strings) {
      lengths_seen.insert(std::ssize(string));
      letters_seen.insert(string.begin(), string.end());
    }
  }
  EXPECT_EQ(edges_seen, (std::set<int64_t>{1, 2, 3}));
  EXPECT_EQ(strings_seen.size(), 10u);
  EXPECT_EQ(*strings_seen.begin(), 10);
  EXPECT_EQ(*strings_seen.rbegin(), 19);
  EXPECT_EQ(lengths_seen.size(), 49u);
  EXPECT_EQ(*lengths_seen.begin(), 1);
  EXPECT_EQ(*lengths_seen.rbegin(), 49);
  EXPECT_EQ(letters_seen.size(), 18u);
  EXPECT_EQ(*states_seen.rbegin(), 12);
}

TEST(RegBench, EveryStringIsAWalkFromTheFirstState) {
  const RegBench task{RegBenchConfig{}};
  for (int64_t index = 0; index < 50; ++index) {
    const Automaton automaton = task.automaton(3, index);
    const auto [tokens, states] = task.sequence(automaton, 3, index);
    ASSERT_EQ(tokens.size(), states.size());
    int64_t state = 0;
    for (size_t t = 0; t < tokens.size(); ++t) {
      if (tokens[t] == task.separator()) {
        EXPECT_TRUE(t > 0 && tokens[t - 1] != task.separator());
        state = 0;
      } else {
        const auto edges = automaton.edges(state);
        const auto edge = std::ranges::find(edges, tokens[t], &Automaton::Edge::symbol);
        ASSERT_NE(edge, edges.end()) << index << ", " << t;
        state = edge->target;
      }
      EXPECT_EQ(states[t], state);
    }
    EXPECT_NE(tokens.back(), task.separator());
  }
}

TEST(RegBench, IsAFunctionOfItsSeeds) {
  const RegBench task{RegBenchConfig{}};
  const config::Json one = task.describe(1, 2, 5);
  EXPECT_EQ(task.describe(1, 2, 5), one);
  EXPECT_EQ(RegBench{RegBenchConfig{}}.describe(1, 2, 5), one);
  const config::Json other_strings = task.describe(1, 3, 5),
                     other_language = task.describe(4, 2, 5);
  EXPECT_EQ(other_strings["automaton"], one["automaton"]);
  EXPECT_NE(other_strings["text"], one["text"]);
  EXPECT_NE(other_language["automaton"], one["automaton"]);
  EXPECT_NE(task.describe(1, 2, 6)["automaton"], one["automaton"]);
}

TEST(RegBench, DescribesAnAutomatonAndItsStrings) {
  const RegBench task(RegBenchConfig{.letters = 3,
                                     .min_alphabet = 2,
                                     .max_alphabet = 3,
                                     .min_states = 3,
                                     .max_states = 3,
                                     .max_edges = 2,
                                     .min_strings = 2,
                                     .max_strings = 2,
                                     .max_length = 4});
  const config::Json line = task.describe(1, 1, 0);
  const auto states = line["states"].get<std::vector<int64_t>>();
  const std::string text = line["text"];
  ASSERT_EQ(states.size(), text.size());
  for (size_t t = 0; t < text.size(); ++t) {
    const int64_t before = t == 0 ? 0 : states[t - 1];
    if (text[t] == '|') {
      EXPECT_EQ(states[t], 0);
    } else {
      EXPECT_EQ(line["automaton"][before].at(std::string(1, text[t])), states[t]);
    }
  }
}

// What follows each beginning of a string is counted in half a million symbols; who counts knows
// the text alone.
TEST(RegBench, NextSymbolsAreDistributedAsCounted) {
  const RegBench task(
      RegBenchConfig{.letters = 6, .max_alphabet = 6, .min_states = 5, .max_states = 8});
  for (int64_t language = 0; language < 3; ++language) {
    const Automaton automaton = task.automaton(7, language);
    std::map<std::string, std::vector<double>> counts;
    for (int64_t index = 0; index < 1500; ++index)
      for (const auto& string : strings_of(task.text(task.sequence(automaton, 8, index).tokens)))
        for (size_t t = 0; t < std::min<size_t>(string.size(), 4); ++t) {
          auto& row = counts[string.substr(0, t)];
          row.resize(task.vocabulary());
          ++row[string[t] - 'a'];
        }
    for (const auto& [beginning, row] : counts) {
      int64_t state = 0;
      for (const char c : beginning)
        state =
            std::ranges::find(automaton.edges(state), c - 'a', &Automaton::Edge::symbol)->target;
      const auto exact = task.next_symbol(automaton, state);
      double total = 0;
      for (const double count : row) total += count;
      for (size_t symbol = 0; symbol < row.size(); ++symbol) {
        const double p = exact[symbol];
        EXPECT_NEAR(row[symbol] / total, p, 5 * std::sqrt(p * (1 - p) / total))
            << beginning << " + " << symbol;
      }
    }
  }
}

TEST(RegBench, ADistributionSumsToOneOverLetters) {
  const RegBench task{RegBenchConfig{}};
  const Automaton automaton({{{3, 0}, {5, 1}}, {{17, 0}}});
  EXPECT_THAT(task.next_symbol(automaton, 0),
              testing::ElementsAre(0, 0, 0, .5, 0, .5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(task.next_symbol(automaton, 1)[17], 1);
}

TEST(RegBench, RefusesSizesThatMakeNoLanguage) {
  const auto message = [](const RegBenchConfig& config) {
    return message_of<UsageError>([&] { RegBench{config}; });
  };
  EXPECT_THAT(message({.letters = 27}), HasSubstr("task.letters is 27"));
  EXPECT_THAT(message({.letters = 12}), HasSubstr("max_alphabet is 18"));
  EXPECT_THAT(message({.min_alphabet = 19}), HasSubstr("min_alphabet is 19"));
  EXPECT_THAT(message({.max_states = 1}), HasSubstr("max_states is 1"));
  EXPECT_THAT(message({.min_states = 13}), HasSubstr("min_states is 13"));
  EXPECT_THAT(message({.max_edges = 4}),
              HasSubstr("max_edges (at most min_alphabet and min_states - 1) is 4, expected a "
                        "whole number from 1 to 3"));
  EXPECT_THAT(message({.min_strings = 20}), HasSubstr("min_strings is 20"));
  EXPECT_THAT(message({.min_length = 0}), HasSubstr("min_length is 0"));
  EXPECT_THAT(message({.min_strings = 1}), HasSubstr("a sequence of one token"));
  EXPECT_EQ(message({.min_strings = 1, .min_length = 2}), "");
}

TEST(RegBench, RefusesAutomataOfOtherSymbols) {
  const RegBench task{RegBenchConfig{}};
  EXPECT_THROW(task.sequence(Automaton({{{18, 0}}}), 1, 0), UsageError);
  EXPECT_THROW(task.sequence(Automaton({{{-1, 0}}}), 1, 0), UsageError);
}

}  // namespace
}  // namespace tessera::task
