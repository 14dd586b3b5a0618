#pragma once

#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <vector>

#include "tessera/memo/likelihood_decoder.h"
#include "tessera/memo/readable_memory.h"

namespace tessera::memo {

/// Continues a text with what a memory of bound windows holds after it, token by token, looking
/// some tokens ahead. The hypothesis for a continuation: it was stored after the last a tokens of
/// the text, where a is all of them or a window's length; so after n tokens its windows of up to
/// a + n tokens were stored. Continuations are ranked by how probable that is and how
/// rarely it happens by chance. A token that is the best only because of noise is therefore
/// skipped, since nothing stored continues after it; and a phrase that occurs in many documents
/// does not lead away from the document that is recited.
///
/// The search is best first (A*): a continuation that is not read to its end ranks as if the rest
/// of it were stored for certain, so another one is read only where the best disappoints, or where
/// it begins with another token and is not far behind.
///
/// The evidence for a continuation is the product of its tokens' likelihood ratios, at its largest
/// over the tokens so far. If nothing was stored, the sum over all continuations is a
/// supermartingale of mean at most 1: it ever exceeds 1 / error_rate with probability at most
/// error_rate (Ville). Above that level the recital begins, and it goes on as long as the tokens
/// ahead stay above it.
class Recital {
 public:
  /// memory and decoder must outlive it. context: the last tokens of the text. end_of_text: the
  /// token that ends documents, if there is one.
  Recital(const ReadableMemory& memory, const LikelihoodDecoder& decoder,
          std::span<const int32_t> context, std::optional<int32_t> end_of_text);

  /// The next token, or none if nothing stored continues here, also after an end of text. Its
  /// evidence is that of its whole continuation; its probability weighs those continuations against
  /// each other that are not far behind the best. Throws UsageError on a context with an id outside
  /// the vocabulary.
  std::optional<NextToken> next();

 private:
  /// A token of a continuation.
  struct Step {
    NextToken token;
    double merit = 0;  ///< log of: probability that it was stored so, over that by chance
    double evidence = 0;
  };
  struct Path {
    int64_t followed = 0;  ///< a, the tokens before it that it was stored after, at least
    double log_prior = 0;  ///< of this a
    double merit = 0;      ///< sum over the steps
    double rank = 0;       ///< by which the best is chosen: rank_of()
    std::vector<Step> steps = {};
    /// read: its continuations are paths too; lost: it has none.
    enum { kOpen, kRead, kEndOfText, kLost } state = kOpen;

    double log_posterior() const { return log_prior + merit; }
    auto tokens() const {
      return std::views::transform(steps, [](const Step& step) { return step.token.token; });
    }
    double evidence() const;
  };

  void drop_unread_context();
  int64_t windows_behind(const Path& path, size_t steps) const;
  double rank_of(const Path& path) const;
  const Path& best_path() const;
  const Path* to_read() const;
  void extend(const Path& best);
  std::vector<Path> continued(const Path& path, const WindowScores& scores) const;
  void drop_hopeless();
  Step step_to(const LikelihoodDecoder::Depth& depth, const WindowScores& scores,
               int64_t windows) const;
  NextToken first_of(const Path& best) const;
  void recite(int32_t token);

  const ReadableMemory& memory_;
  const LikelihoodDecoder& decoder_;
  std::optional<int32_t> end_of_text_;
  std::vector<int32_t> context_;
  std::vector<Path> paths_;
};

}  // namespace tessera::memo
