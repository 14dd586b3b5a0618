#include "lab/task/regbench/regbench.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "lab/task/sequence/draws.h"
#include "lab/task/sequence/sample_arrays.h"
#include "lab/task/sequence/sequence_task.h"
#include "tessera/base/consecutive.h"
#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/safetensors.h"

namespace tessera::task {

namespace {

/// A class of states by number, for each state.
using Classes = std::vector<int64_t>;

/// Numbers states by their class and, for each edge, its symbol and the class it leads to.
Classes refined(const Automaton& automaton, const Classes& classes) {
  std::map<std::vector<int64_t>, int64_t> numbers;
  Classes finer;
  for (int64_t state = 0; state < automaton.states(); ++state) {
    std::vector<int64_t> signature = {classes[state]};
    for (const auto& [symbol, target] : automaton.edges(state)) {
      signature.push_back(symbol);
      signature.push_back(classes[target]);
    }
    finer.push_back(numbers.emplace(signature, std::ssize(numbers)).first->second);
  }
  return finer;
}

/// States with the same class have the same strings before them (Moore 1956).
Classes classes_of_equal_futures(const Automaton& automaton) {
  Classes classes(automaton.states(), 0);
  const auto count = [](const Classes& of) { return *std::max_element(of.begin(), of.end()) + 1; };
  while (true) {
    Classes finer = refined(automaton, classes);
    if (count(finer) == count(classes)) return finer;
    classes = std::move(finer);
  }
}

/// Writes a sequence into row b.
void fill_row(const RegBench& task, const Automaton& automaton, const RegBenchSequence& sequence,
              int64_t b, RegBenchArrays& arrays) {
  const int64_t row = b * arrays.steps;
  for (size_t t = 0; t + 1 < sequence.tokens.size(); ++t) {
    arrays.inputs[row + t] = sequence.tokens[t];
    const int64_t next = sequence.tokens[t + 1];
    arrays.targets[row + t] = next == task.separator() ? RegBenchArrays::kNotCounted : next;
    const auto probabilities = task.next_symbol(automaton, sequence.states[t]);
    std::copy(probabilities.begin(), probabilities.end(),
              arrays.truth.begin() + static_cast<int64_t>(row + t) * arrays.vocabulary);
  }
}

}  // namespace

Automaton::Automaton(std::vector<std::vector<Edge>> edges) : edges_(std::move(edges)) {
  check_argument(!edges_.empty(), "Automaton: there are no states");
  for (auto& out : edges_) {
    check_argument(!out.empty(), "Automaton: a state has no edge");
    std::ranges::sort(out, {}, &Edge::symbol);
    for (size_t i = 0; i < out.size(); ++i) {
      check_argument(i == 0 || out[i].symbol != out[i - 1].symbol,
                     "Automaton: two edges of a state have the symbol {}", out[i].symbol);
      check_argument(0 <= out[i].target && out[i].target < states(),
                     "Automaton: an edge leads to state {} of {}", out[i].target, states());
    }
  }
}

std::span<const Automaton::Edge> Automaton::edges(int64_t state) const {
  return edges_.at(state);
}

Automaton Automaton::minimised() const {
  const Classes classes = classes_of_equal_futures(*this);
  std::map<int64_t, int64_t> numbers;  // class -> new state
  std::vector<int64_t> reached;        // a state of each, in the order of the new states
  const auto number_of = [&](int64_t state) {
    const auto [found, is_new] = numbers.emplace(classes[state], std::ssize(numbers));
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

RegBench::RegBench(const RegBenchConfig& config) : config_(config) {
  config::check_demands(config, "task");
  check_range(config.max_alphabet, 1, config.letters, "task.max_alphabet");
  check_range(config.min_alphabet, 1, config.max_alphabet, "task.min_alphabet");
  check_range(config.min_states, 2, config.max_states, "task.min_states");
  // The edges of a state have different letters and lead to different other states.
  check_range(config.max_edges, 1, std::min(config.min_alphabet, config.min_states - 1),
              "task.max_edges (at most min_alphabet and min_states - 1)");
  check_range(config.min_strings, 1, config.max_strings, "task.min_strings");
  check_range(config.min_length, 1, config.max_length, "task.min_length");
  if (config.min_strings == 1 && config.min_length == 1)
    throw UsageError(
        "task.min_strings and task.min_length are 1: a sequence of one token has no next one; "
        "expected 2 or more of either");
}

Automaton RegBench::automaton(uint64_t seed, int64_t index) const {
  RandomStream random = size_stream(seed, index);
  const int64_t states = draw_between(random, config_.min_states, config_.max_states);
  const int64_t symbols = draw_between(random, config_.min_alphabet, config_.max_alphabet);
  const std::vector<int64_t> alphabet = draw_distinct(random, config_.letters, symbols);
  std::vector<std::vector<Automaton::Edge>> edges(states);
  for (int64_t state = 0; state < states; ++state) {
    const int64_t count = draw_between(random, 1, config_.max_edges);
    const auto chosen = draw_distinct(random, symbols, count);
    const auto others = draw_distinct(random, states - 1, count);
    for (size_t i = 0; i < chosen.size(); ++i)
      edges[state].push_back({alphabet[chosen[i]], others[i] + (others[i] >= state ? 1 : 0)});
  }
  return Automaton(std::move(edges)).minimised();
}

RegBenchSequence RegBench::sequence(const Automaton& automaton, uint64_t seed,
                                    int64_t index) const {
  RandomStream random = content_stream(seed, index);
  const int64_t strings = draw_between(random, config_.min_strings, config_.max_strings);
  RegBenchSequence sequence;
  const auto add = [&](int64_t token, int64_t state) {
    sequence.tokens.push_back(token);
    sequence.states.push_back(state);
  };
  for (int64_t string = 0; string < strings; ++string) {
    if (string > 0) add(separator(), 0);
    const int64_t length = draw_between(random, config_.min_length, config_.max_length);
    for (int64_t i = 0, state = 0; i < length; ++i) {
      const auto edges = automaton.edges(state);
      const auto& edge = edges[draw_between(random, 0, std::ssize(edges) - 1)];
      check_argument(0 <= edge.symbol && edge.symbol < config_.letters,
                     "RegBench::sequence: the automaton has the symbol {}, letters are 0 to {}",
                     edge.symbol, config_.letters - 1);
      state = edge.target;
      add(edge.symbol, state);
    }
  }
  return sequence;
}

std::vector<double> RegBench::next_symbol(const Automaton& automaton, int64_t state) const {
  std::vector<double> probabilities(vocabulary(), 0.0);
  const auto edges = automaton.edges(state);
  for (const auto& edge : edges)
    probabilities.at(edge.symbol) = 1.0 / static_cast<double>(edges.size());
  return probabilities;
}

std::string RegBench::text(std::span<const int64_t> tokens) const {
  std::string text;
  for (const int64_t token : tokens)
    text += token < config_.letters ? static_cast<char>('a' + token)
                                    : (token == separator() ? '|' : '.');
  return text;
}

config::Json RegBench::describe(uint64_t automaton_seed, uint64_t sequence_seed,
                                int64_t index) const {
  const Automaton automaton = this->automaton(automaton_seed, index);
  const RegBenchSequence sequence = this->sequence(automaton, sequence_seed, index);
  config::Json states = config::Json::array();
  for (int64_t state = 0; state < automaton.states(); ++state) {
    config::Json out = config::Json::object();
    for (const auto& edge : automaton.edges(state)) out[text({&edge.symbol, 1})] = edge.target;
    states.push_back(std::move(out));
  }
  return {{"index", index},
          {"automaton", std::move(states)},
          {"text", text(sequence.tokens)},
          {"states", sequence.states}};
}

RegBenchArrays make_regbench_arrays(const RegBench& task, const RegBenchSet& set,
                                    std::span<const int64_t> automata) {
  check_argument(!automata.empty(), "a batch of RegBench: there are no sequences");
  std::vector<Automaton> languages;
  std::vector<RegBenchSequence> sequences;
  RegBenchArrays arrays{.sequences = std::ssize(automata), .vocabulary = task.vocabulary()};
  for (const int64_t index : automata) {
    languages.push_back(task.automaton(set.automata, index));
    sequences.push_back(task.sequence(languages.back(), set.sequences, index));
    arrays.steps = std::max(arrays.steps, std::ssize(sequences.back().tokens) - 1);
  }
  const int64_t places = arrays.sequences * arrays.steps;
  arrays.inputs.assign(places, task.padding());
  arrays.targets.assign(places, RegBenchArrays::kNotCounted);
  arrays.truth.assign(places * arrays.vocabulary, 0);
  for (int64_t b = 0; b < arrays.sequences; ++b)
    fill_row(task, languages[b], sequences[b], b, arrays);
  return arrays;
}

void write_regbench_jsonl(const RegBench& task, const RegBenchSet& set, int64_t first,
                          int64_t count, const std::function<void(std::string_view)>& write) {
  check_samples(first, count, "sequence");
  for (int64_t index = first; index < first + count; ++index)
    write(task.describe(set.automata, set.sequences, index).dump() + '\n');
}

void write_regbench_tensors(const RegBench& task, const RegBenchSet& set, int64_t first,
                            int64_t count, const std::filesystem::path& path) {
  check_samples(first, count, "sequence");
  const std::vector<int64_t> automata = consecutive(count, first);
  const RegBenchArrays arrays = make_regbench_arrays(task, set, automata);
  const auto [B, T, V] = std::tuple(arrays.sequences, arrays.steps, arrays.vocabulary);
  const InterruptGuard guard;  // a signal waits until the file is written
  safetensors::write(path,
                     {{"inputs", tensor_of(arrays.inputs, {B, T})},
                      {"targets", tensor_of(arrays.targets, {B, T})},
                      {"truth", tensor_of(arrays.truth, {B, T, V})}},
                     {{"automata_seed", std::to_string(set.automata)},
                      {"sequences_seed", std::to_string(set.sequences)},
                      {"first_sequence", std::to_string(first)}});
}

}  // namespace tessera::task
