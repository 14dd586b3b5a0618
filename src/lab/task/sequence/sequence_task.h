#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/number.h"
#include "tessera/base/random.h"

namespace tessera::task {

/// What an answer step predicts: independent bits (binary cross-entropy), one of several classes
/// (cross-entropy), or a vector of numbers (squared error, clipped as the task says).
enum class TargetKind { kBits, kClasses, kVectors };
constexpr std::array<std::string_view, 3> enum_names(TargetKind) {
  return {"bits", "classes", "vectors"};
}

/// What a model of this task reads and writes at each step.
struct TaskShape {
  int64_t vocabulary = 0;   ///< of input tokens; 0 where the inputs are vectors
  int64_t input_width = 0;  ///< of input vectors; 0 where the inputs are tokens
  int64_t output_width = 0;
  TargetKind targets = TargetKind::kBits;
  double clip = 0;  ///< vectors: an error of this size or more counts as this much

  bool operator==(const TaskShape&) const = default;
  /// Whether answers are classes that are input tokens, so that a language model can give them.
  bool answers_are_tokens() const {
    return vocabulary > 0 && targets == TargetKind::kClasses && output_width == vocabulary;
  }

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("vocabulary", vocabulary, "number of tokens; 0 where the inputs are vectors");
    field("input_width", input_width, "numbers in an input vector; 0 where the inputs are tokens");
    field("output_width", output_width, "classes, bits or numbers of an answer");
    field("targets", targets, "what an answer is");
    field("clip", clip, "vectors: an error of this size or more counts as this much");
  }
};

/// Stands for the class of a step that is not asked.
constexpr int64_t kNotAsked = -1;

/// One sequence and its answers. Answers stand at consecutive steps from `first_answer` on, where
/// classes may leave steps out; what a model says at other steps does not count.
struct TaskSample {
  int64_t steps = 0;
  std::vector<float> inputs;    ///< [steps, input_width]; empty where the inputs are tokens
  std::vector<int64_t> tokens;  ///< [steps]; empty where the inputs are vectors
  int64_t first_answer = 0;
  int64_t answers = 0;
  /// Of each answer step, as TargetKind says; the others are empty.
  std::vector<float> bits;       ///< [answers, output_width]
  std::vector<int64_t> classes;  ///< [answers]; kNotAsked at steps between answers
  std::vector<float> vectors;    ///< [answers, output_width]

  /// Appends an input vector of zeros and returns it.
  std::span<float> add_row(int64_t width) {
    ++steps;
    inputs.resize(inputs.size() + width);
    return std::span(inputs).last(width);
  }
  /// Appends one input vector of zeros per class; these steps answer with the classes.
  void answer_with_classes(std::span<const int64_t> answer, int64_t width) {
    first_answer = steps;
    answers = std::ssize(answer);
    classes.assign(answer.begin(), answer.end());
    for (size_t i = 0; i < answer.size(); ++i) add_row(width);
  }
};

/// What somebody scores who has learned nothing.
struct Level {
  std::string strategy;
  std::string metric;  ///< "bits per sequence" (wrong ones), "accuracy" (share of right classes) or
                       ///< "mean absolute error"
  double value;
  std::optional<double> faultless = {};  ///< share of samples without a wrong answer, where known
};

/// A task as a seeded generator with ground truth. Sample `index` of the set named by `seed` is a
/// pure function of (seed, index) and the configuration: any order, any thread, any machine.
class SequenceTask {
 public:
  virtual ~SequenceTask() = default;

  virtual TaskShape shape() const = 0;

  TaskSample sample(uint64_t seed, int64_t index) const { return draw_sample(seed, index, index); }
  /// size_of: the sample that sets the sizes which a batch of this task shares (a length, a number
  /// of points). A sample by itself sets its own; in a batch all take those of the first.
  virtual TaskSample draw_sample(uint64_t seed, int64_t index, int64_t size_of) const = 0;

  /// The sample of its own sizes in the task's terms, with the ground truth: a line of a data file.
  virtual config::Json describe(uint64_t seed, int64_t index) const = 0;

  /// Chance and trivial strategies.
  virtual std::vector<Level> levels() const = 0;

  /// How many samples there are, whatever the seed; none where they are endless.
  virtual std::optional<int64_t> samples() const { return {}; }

  /// Whether samples of one size have answers of several lengths, so that a batch pads them.
  virtual bool pads_answers() const { return false; }
};

/// One with a configuration, each of whose fields is as demanded. What must hold between fields is
/// for the task's own constructor to check.
template <typename Configuration>
class ConfiguredTask : public SequenceTask {
 public:
  using Config = Configuration;

  /// Throws UsageError on a field out of bounds.
  explicit ConfiguredTask(const Config& config) : config_(config) {
    config::check_demands(config, "task");
  }

 protected:
  Config config_;
};

/// Which of the disjoint sets of a seed.
enum class Split { kTraining, kValidation, kTest };
constexpr std::array<std::string_view, 3> enum_names(Split) {
  return {"training", "validation", "test"};
}

/// The seed of a split's samples.
inline uint64_t split_seed(uint64_t seed, Split split) {
  constexpr uint64_t kSplits = 0x73706C697473;  // "splits": a stream that no sample has
  return Philox(seed, kSplits).number(static_cast<uint64_t>(split));
}

/// Throws UsageError unless low <= value <= high. what: "task.pairs".
inline void check_range(int64_t value, int64_t low, int64_t high, std::string_view what) {
  if (value < low || value > high)
    throw UsageError("{} is {}, expected a whole number from {} to {}", what, value, low, high);
}

/// The number of fewest decimals that reads back as this float: 0.1F is 0.1, not
/// 0.10000000149011612. For data files.
inline double shortest_decimal(float number) {
  return number_from<double>(fmt::format("{}", number)).value();
}

inline std::vector<double> shortest_decimals(std::span<const float> numbers) {
  std::vector<double> decimals;
  for (float number : numbers) decimals.push_back(shortest_decimal(number));
  return decimals;
}

}  // namespace tessera::task
