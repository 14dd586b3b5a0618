#pragma once

#include "lab/task/sequence/sequence_task.h"

namespace tessera::task {

struct AssociativeRetrievalConfig {
  int64_t pairs = 14;
  int64_t min_pairs = 0;
  int64_t keys = 26;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("pairs", pairs, "pairs of a key and a digit: 14 is the paper's length 30, 24 length 50",
          config::at_least(1));
    field("min_pairs", min_pairs,
          "minimum number of pairs; a batch shares its number (0: always `pairs`)",
          config::at_least(0));
    field("keys", keys, "number of different keys; the first 26 are the letters a to z",
          config::between(1, 1000));
  }
};

/// Associative retrieval (Ba et al. 2016; Zhang & Zhou 2017; Le et al. 2020, section 3.1): pairs of
/// a letter and a digit, then a letter again; which digit came with it? `c9k8j3f1??c` asks for 9.
/// Input tokens: digits 0 … 9, keys 10 … 9 + keys, and `?` last; 2 · pairs + 3 of them. Keys of a
/// sample differ, digits are independent. The answer is one of ten classes at the last token.
class AssociativeRetrieval : public ConfiguredTask<AssociativeRetrievalConfig> {
 public:
  /// Throws UsageError on sizes out of bounds, min_pairs above pairs, or more pairs than keys.
  explicit AssociativeRetrieval(const AssociativeRetrievalConfig& config);

  TaskShape shape() const override;
  TaskSample draw_sample(uint64_t seed, int64_t index, int64_t size_of) const override;
  config::Json describe(uint64_t seed, int64_t index) const override;
  /// Guessing, 1/10; and the plateau of answering the digit seen most often, whatever the key: the
  /// mean over the numbers of pairs.
  std::vector<Level> levels() const override;

  /// A token as text: "7", "c", "?"; a key past z as "key26".
  std::string token_text(int64_t token) const;

 private:
  int64_t fewest_pairs() const { return config_.min_pairs > 0 ? config_.min_pairs : config_.pairs; }
};

/// Expected share of the most frequent digit among `draws` independent ones.
double most_frequent_digit_share(int64_t draws);

}  // namespace tessera::task
