#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tessera/base/statistics.h"
#include "tessera/memo/text_memory_config.h"

namespace tessera::memo {

/// The size of a memory for given texts, and how well it is predicted to recall them.
struct SizePlan {
  int64_t associations = 0;  ///< pairs of a window and its next token that are written
  std::optional<int64_t> dimension =
      {};                     ///< none: not even 10^6 dimensions reach the error allowed
  double error = 0;           ///< predicted in this dimension
  double standard_error = 0;  ///< of the prediction
  double error_in_any_dimension = 0;
  int64_t probes = 0;  ///< positions that the prediction looks at
};

/// Predicts how often a memory of texts recalls the next token wrongly, over the stored texts
/// themselves, from a sample of their positions (probes).
class RecallPredictor {
 public:
  using Documents = std::vector<std::vector<int32_t>>;  ///< their tokens

  virtual ~RecallPredictor() = default;

  /// Pairs of a window and its next token that are written, of all window lengths.
  virtual int64_t associations() const = 0;
  virtual int64_t probes() const = 0;
  /// The error over the probes, in dimension d. Throws UsageError unless d >= 2.
  virtual Spread error(int64_t dimension) const = 0;
  /// The error that remains in any dimension.
  virtual double floor() const = 0;

  /// The smallest multiple of `step` whose error plus its standard error is at most
  /// `error_allowed`; 0 if not even 10^6 dimensions reach that. Throws UsageError on a
  /// step below 1.
  int64_t smallest_dimension(double error_allowed, int64_t step) const;

  /// The plan with the smallest multiple of 64 that smallest_dimension() finds.
  SizePlan plan_for(double error_allowed) const;
  /// What to expect in this dimension.
  SizePlan plan_in(int64_t dimension) const;

 protected:
  RecallPredictor() = default;
  /// Throws UsageError on heads, layers, shards or a vocabulary below 1, on more than 16 layers, on
  /// a token outside the vocabulary, and if no document is longer than the shortest window.
  RecallPredictor(const Documents& documents, const TextMemoryConfig& config);
  /// At most `probes` of the positions 0, 1, … below `positions`: all of them, or as many by
  /// chance.
  static std::vector<int64_t> choose(int64_t positions, int64_t probes, uint64_t seed);
};

/// Chooses a size by a predictor: RecallPredictor::plan_for() an error, or plan_in() a dimension.
using SizeChoice = std::function<SizePlan(const RecallPredictor&)>;

/// The plan for a memory of these documents under config.code, in config.shards matrices, each of
/// the dimension planned. seed: of the positions it looks at.
SizePlan plan_memory(const RecallPredictor::Documents& documents, const TextMemoryConfig& config,
                     uint64_t seed, const SizeChoice& choose);

/// The same in the number of shards for which time times size is least (S d^2 numbers, to d^2 of
/// which each pair is added), of 1, 4, 16, ..., 4096: one, if it has at most 2048 dimensions, else
/// the first that makes matrices of at most 1024, or fewer, if more would cost more. One under the
/// paper's code. config.shards becomes this number.
SizePlan plan_shards(const RecallPredictor::Documents& documents, TextMemoryConfig& config,
                     uint64_t seed, const SizeChoice& choose);

}  // namespace tessera::memo
