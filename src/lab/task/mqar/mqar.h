#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lab/task/sequence/sequence_task.h"
#include "tessera/base/random.h"

namespace tessera::task {

/// What stands behind the context where nothing is asked.
enum class MqarFiller { kRandom, kZero };
constexpr std::array<std::string_view, 2> enum_names(MqarFiller) {
  return {"random", "zero"};
}

struct MqarConfig {
  int64_t length = 64;
  int64_t pairs = 4;
  int64_t vocabulary = 8192;
  int64_t overwritten = 0;
  bool compound = false;
  MqarFiller filler = MqarFiller::kRandom;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("length", length, "tokens of a sequence, N; it ends at the last question",
          config::between(2, 1 << 20));
    field("pairs", pairs, "pairs of a key and a value, P, and as many questions",
          config::at_least(1));
    field("vocabulary", vocabulary, "tokens: the first half are keys, the others values",
          config::between(6, 1 << 20));
    field("overwritten", overwritten, "keys that come again with another value, which then counts",
          config::at_least(0));
    field("compound", compound,
          "keys of two tokens, every combination of sqrt(pairs) first and second ones, so that "
          "neither alone tells the value");
    field("filler", filler, "tokens between the questions: random ones, or always token 0");
  }
};

/// Multi-query associative recall (Arora et al. 2023, "Zoology", section 3; sizes and draws as in
/// the authors' code): pairs of a key and a value, then keys among random tokens; at each of these
/// keys the model is to name its value.
///
/// Context: k_1 v_1 … k_P v_P, keys from 1 … V/2 - 1 and values from V/2 … V - 1 without repeats.
/// Behind it, each second place may ask; P of them do, drawn without replacement with probabilities
/// proportional to j^(-0.99), j = 1, 2, …, so that most questions follow soon and some late. All
/// other tokens are random ones of the whole vocabulary, or 0 (figure 2); those behind the last
/// question are left out, since nobody is asked there. Needs 4 P <= N.
///
/// overwritten: after the P pairs, so many of the keys come again with a new value (the authors'
/// forgetting_mqar). Needs 4 P + 2 U <= N.
/// compound: P is a square number; keys are pairs of tokens from 1 … V/3 - 1 and V/3 … 2V/3 - 1,
/// values are from 2V/3 … V - 1 (the authors' compositional_mqar). The answer stands at the second
/// token of a question. Needs 6 P <= N.
class Mqar : public ConfiguredTask<MqarConfig> {
 public:
  /// Throws UsageError on sizes out of bounds, on more pairs than the length or the vocabulary has
  /// room for, on a number of pairs that is no square of compound keys, and on overwritten compound
  /// keys.
  explicit Mqar(const MqarConfig& config);

  TaskShape shape() const override;
  TaskSample draw_sample(uint64_t seed, int64_t index, int64_t size_of) const override;
  /// index, tokens, and answers: the step and the value of each question, in the order of steps.
  config::Json describe(uint64_t seed, int64_t index) const override;
  /// Any token that is a value; any value of the context; with overwritten keys, the first value of
  /// the key; with compound keys, a value of the first half of the key.
  std::vector<Level> levels() const override;

 private:
  /// Pairs in the order of the context, overwritten keys last.
  struct Pairs {
    std::vector<std::vector<int64_t>> keys;
    std::vector<int64_t> values;
  };
  Pairs draw_pairs(RandomStream& random) const;
  int64_t key_width() const { return config_.compound ? 2 : 1; }
  int64_t context_pairs() const { return config_.pairs + config_.overwritten; }
  /// Places behind the context that may ask.
  int64_t places() const { return config_.length / (key_width() + 1) - context_pairs(); }
  int64_t first_value() const { return key_width() * config_.vocabulary / (key_width() + 1); }
};

}  // namespace tessera::task
