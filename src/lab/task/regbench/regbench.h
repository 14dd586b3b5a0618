#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/config.h"

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

  /// edges[s]: those out of state s. Throws UsageError where a state has none or two of the same
  /// symbol, or an edge leads nowhere.
  explicit Automaton(std::vector<std::vector<Edge>> edges);

  int64_t states() const { return std::ssize(edges_); }
  /// Sorted by symbol.
  std::span<const Edge> edges(int64_t state) const;
  /// The smallest automaton with the same strings and probabilities: states that cannot be reached
  /// are left out, those with the same future are one. States are numbered in the order in which
  /// they are first reached from state 0, breadth first, by symbol.
  Automaton minimised() const;

  bool operator==(const Automaton&) const = default;

 private:
  std::vector<std::vector<Edge>> edges_;
};

/// Sizes of the random languages. Defaults: the paper's. Differs from its text: 1 to 3 edges out of
/// a state and 10 to 19 strings, where it says up to 4 and 10 to 20; so draws the benchmark's code.
struct RegBenchConfig {
  int64_t letters = 18;
  int64_t min_alphabet = 4;
  int64_t max_alphabet = 18;
  int64_t min_states = 4;
  int64_t max_states = 12;
  int64_t max_edges = 3;
  int64_t min_strings = 10;
  int64_t max_strings = 19;
  int64_t min_length = 1;
  int64_t max_length = 49;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("letters", letters, "letters from which the alphabet of a language is drawn",
          config::between(1, 26));
    field("min_alphabet", min_alphabet, "minimum number of letters of a language",
          config::at_least(1));
    field("max_alphabet", max_alphabet, "maximum number of letters of a language",
          config::at_least(1));
    field("min_states", min_states,
          "minimum number of states of an automaton, before it is minimised", config::at_least(2));
    field("max_states", max_states, "maximum number of states of an automaton",
          config::between(2, 4096));
    field("max_edges", max_edges, "maximum number of edges out of a state", config::at_least(1));
    field("min_strings", min_strings, "minimum number of strings of a sequence",
          config::at_least(1));
    field("max_strings", max_strings, "maximum number of strings of a sequence",
          config::between(1, 4096));
    field("min_length", min_length, "minimum number of symbols of a string", config::at_least(1));
    field("max_length", max_length, "maximum number of symbols of a string",
          config::between(1, 4096));
  }
};

/// Strings of one language behind one another, with a separator between two strings.
struct RegBenchSequence {
  std::vector<int64_t> tokens;
  std::vector<int64_t> states;  ///< of the automaton after each token; 0 after a separator
};

/// In-context language learning (Akyürek et al. 2024, RegBench; Zhang et al. 2024, figure 9): each
/// sequence shows strings of one random regular language. Who predicts the next symbol has to find
/// out the language from the strings before.
///
/// An automaton has U{min_states … max_states} states; its alphabet is U{min_alphabet …
/// max_alphabet} of the letters; each state has U{1 … max_edges} edges with different symbols,
/// which lead to different other states; then it is minimised. A sequence has U{min_strings …
/// max_strings} strings, each a walk of U{min_length … max_length} symbols from the first state.
///
/// Automaton `index` of the set named by `seed` is a pure function of (seed, index), and so is the
/// sequence that a second seed gives for it: two seeds name two sequences of the same language.
class RegBench {
 public:
  /// Throws UsageError that names the field and what it may be.
  explicit RegBench(const RegBenchConfig& config);

  const RegBenchConfig& config() const { return config_; }
  /// Tokens: the letters are 0 … letters - 1.
  int64_t separator() const { return config_.letters; }
  int64_t padding() const { return config_.letters + 1; }
  int64_t vocabulary() const { return config_.letters + 2; }
  /// Tokens of the longest sequence.
  int64_t longest() const { return config_.max_strings * (config_.max_length + 1) - 1; }

  Automaton automaton(uint64_t seed, int64_t index) const;
  /// Throws UsageError on symbols that are not letters.
  RegBenchSequence sequence(const Automaton& automaton, uint64_t seed, int64_t index) const;
  /// The exact probability of each token of the vocabulary to be the next symbol in this state. A
  /// separator is no symbol: where strings end is not the language's.
  std::vector<double> next_symbol(const Automaton& automaton, int64_t state) const;

  /// "abc|ab": 'a' is letter 0, '|' the separator, '.' the padding.
  std::string text(std::span<const int64_t> tokens) const;
  /// An automaton and a sequence as a line of a data file: index, automaton (for each state, the
  /// state behind each letter), text, and states.
  config::Json describe(uint64_t automaton_seed, uint64_t sequence_seed, int64_t index) const;

 private:
  RegBenchConfig config_;
};

/// Which languages, and which sequences of them: two seeds of RegBench. Sets with the same automata
/// and other sequences are new strings of known languages.
struct RegBenchSet {
  uint64_t automata = 0;
  uint64_t sequences = 0;
};

/// Sequences side by side: what a language model reads, what it is to say, and the truth.
struct RegBenchArrays {
  static constexpr int64_t kNotCounted = -1;  ///< as LanguageModel::loss() reads targets

  int64_t sequences = 0, steps = 0, vocabulary = 0;  ///< B, T, V
  std::vector<int64_t> inputs =
      {};  ///< [B, T]: all tokens of a sequence but the last, then padding
  std::vector<int64_t> targets = {};  ///< [B, T]: the next token; kNotCounted where that is a
                                      ///< separator or padding
  std::vector<float> truth = {};      ///< [B, T, V]: the exact distribution of the next symbol; 0
                                      ///< behind a sequence
};

/// The sequences of these automata. Throws UsageError on no automata.
RegBenchArrays make_regbench_arrays(const RegBench& task, const RegBenchSet& set,
                                    std::span<const int64_t> automata);

/// Sequences first … first + count - 1 of a set with their automata: one JSON object a line, as
/// RegBench::describe() gives it. write: takes each line, with its end. Throws UsageError on a
/// count below 1 or a first below 0.
void write_regbench_jsonl(const RegBench& task, const RegBenchSet& set, int64_t first,
                          int64_t count, const std::function<void(std::string_view)>& write);

/// The same sequences as one batch: tensors `inputs`, `targets` and `truth` of RegBenchArrays.
/// The file appears whole or not at all. Throws as write_regbench_jsonl() does, and SystemError.
void write_regbench_tensors(const RegBench& task, const RegBenchSet& set, int64_t first,
                            int64_t count, const std::filesystem::path& path);

}  // namespace tessera::task
