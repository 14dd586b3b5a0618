#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tessera/memo/likelihood_decoder.h"
#include "tessera/memo/text_memory.h"

namespace tessera {

/// Goes on from a text with what a memory of bound windows holds after it, token by token, looking
/// some tokens ahead (beam search). A continuation is taken to follow the last a tokens of the text
/// as they were stored, a being all of them or a window's length, and to follow itself: after n
/// tokens its windows of up to a + n tokens were stored. How likely that is, and how rarely it
/// happens by chance, ranks it. So a token that noise makes the best of its place is passed over,
/// because nothing goes on from it; and a phrase that stands in many documents does not lead away
/// from the one that is recited.
///
/// The evidence for a continuation is the product of its tokens' likelihood ratios, at the most
/// that it reaches. Where nothing was stored the sum over all continuations is a supermartingale of
/// mean 1 at most: that it ever exceeds 1 / error_rate happens with probability error_rate at most
/// (Ville). Beyond that the recital begins, and goes on as long as what lies ahead is beyond it.
class Recital {
 public:
  /// memory and decoder must outlive it. context: the last tokens of the text. end_of_text: the
  /// token that ends documents, if any does.
  Recital(const TextMemory& memory, const LikelihoodDecoder& decoder,
          std::span<const int32_t> context, std::optional<int32_t> end_of_text);

  /// The next token, or none where nothing stored goes on. Its evidence is that of the whole
  /// continuation it was taken with, its probability against all others. Throws
  /// std::invalid_argument on a context with an id outside the vocabulary.
  std::optional<NextToken> next();

 private:
  /// A token of a continuation.
  struct Step {
    NextToken token;
    double merit = 0;  ///< log of its probability to follow as it must, against chance
    double evidence = 0;
  };
  struct Path {
    int64_t followed = 0;  ///< tokens before it that it follows, at least
    double log_prior = 0;  ///< of that
    double merit = 0;      ///< of the steps
    std::vector<Step> steps = {};
    enum { kOpen, kEndOfText, kLost } state = kOpen;  ///< lost: nothing stored goes on

    double rank(size_t ahead) const;
    double evidence() const;
  };

  void forget_what_no_window_reads();
  bool can_look_further() const;
  void look_further();
  size_t ahead() const;
  std::vector<Path> continued(const Path& path, const WindowScores& scores) const;
  Step step_to(const LikelihoodDecoder::Depths& depths, const WindowScores& scores,
               int64_t windows) const;
  NextToken first_of(const Path& best) const;
  void recite(int32_t token);

  const TextMemory& memory_;
  const LikelihoodDecoder& decoder_;
  std::optional<int32_t> end_of_text_;
  std::vector<int32_t> context_;
  std::vector<Path> paths_;
};

}  // namespace tessera
