#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lab/task/sequence/sequence_task.h"
#include "tessera/base/random.h"

namespace tessera::task {

/// What a text hides, and what is asked at its end. kOne: the number of one name. kSeveral: the
/// numbers of several names, of which one is asked. kOneName: several numbers of one name, all of
/// them asked, in their order. kReplaced: two numbers of one name, of which the later one counts.
/// kMixed: each sequence is one of these.
enum class NeedleKind { kOne, kSeveral, kOneName, kReplaced, kMixed };
constexpr std::array<std::string_view, 5> enum_names(NeedleKind) {
  return {"one", "several", "one-name", "replaced", "mixed"};
}

struct NeedleConfig {
  static constexpr int64_t kNames = 100;  ///< that there are

  NeedleKind kind = NeedleKind::kMixed;
  int64_t length = 128;
  int64_t needles = 4;
  int64_t depth = -1;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("kind", kind,
          "what is hidden and asked: one number, one of several, all of one name, the "
          "later one of two; mixed: each sequence one of these");
    field("length", length, "tokens of a sequence, with the question and all but the last digit",
          config::between(1, 1 << 24));
    field("needles", needles, "number of sentences that are hidden where there are several",
          config::between(2, kNames));
    field("depth", depth,
          "of one or of several: the number that is asked stands behind this percentage of the "
          "story (-1: drawn)",
          config::between(-1, 100));
  }
};

/// Needles in a haystack, a small analogue of RULER's (Hsieh et al. 2024): sentences "The secret
/// number of Bado is 4 7 ." stand between the sentences of generated stories (write_story()), and
/// the text ends with the beginning of such a sentence, "The secret number of Bado is", which the
/// model completes digit by digit. Several numbers of one name are told by "A secret number of …"
/// and asked by "The secret numbers of … are".
///
/// A token is a word, a punctuation mark, a digit or a name; names occur nowhere else, but for
/// Nora, who is in some stories, too. Words that are not among the stories' most frequent ones are
/// one token, "…".
class Needle : public ConfiguredTask<NeedleConfig> {
 public:
  /// Throws UsageError on a length that has no room for needles and question, on needles and depths
  /// that make no sense.
  explicit Needle(const NeedleConfig& config);

  TaskShape shape() const override;
  TaskSample draw_sample(uint64_t seed, int64_t index, int64_t size_of) const override;
  /// index, text, and the digits of the answer.
  config::Json describe(uint64_t seed, int64_t index) const override;
  /// Any digit; and, where there is a choice, the digits of any number of the text.
  std::vector<Level> levels() const override;

 private:
  /// What is hidden in one sequence.
  struct Hidden {
    struct Sentence {
      int64_t name, number, place;  ///< place: tokens of the story before it
    };
    std::vector<Sentence> sentences;  ///< by their places
    bool all = false;                 ///< whether all are asked
    int64_t asked = 0;                ///< else which; its name is in the question
  };
  Hidden draw_hidden(RandomStream& random, NeedleKind kind) const;
  int64_t sentences_of(NeedleKind kind) const;
  int64_t answers_of(NeedleKind kind) const;
  /// Tokens of the story in a sequence of this kind.
  int64_t story_length(NeedleKind kind) const;
};

}  // namespace tessera::task
