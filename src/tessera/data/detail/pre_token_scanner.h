#pragma once

#include <memory>
#include <string_view>

#include "tessera/data/detail/pre_token_pattern.h"

namespace tessera {

/// Cuts text into pre-tokens by a pattern.
///
/// Text that is not UTF-8 is cut at the invalid bytes first: each longest run of them is one
/// pre-token, and the valid text between is cut as if it stood alone.
///
/// One scanner per thread. With GPT-2's pattern linear in the text, whatever it holds.
class PreTokenScanner {
 public:
  PreTokenScanner();
  ~PreTokenScanner();
  PreTokenScanner(PreTokenScanner&&) noexcept;
  PreTokenScanner& operator=(PreTokenScanner&&) noexcept;

  /// Text and pattern must outlive the scan.
  void start(std::string_view text, const PreTokenPattern& pattern = PreTokenPattern::gpt2());
  /// The next pre-token, empty at the end of the text. Throws std::runtime_error where the pattern
  /// needs more steps than PCRE2 allows.
  std::string_view next();

 private:
  struct MatchData;

  std::string_view take_invalid_run();
  /// From `position_` to `end`, which becomes the position.
  std::string_view take_until(size_t end);

  std::unique_ptr<MatchData> match_;
  const PreTokenPattern* pattern_ = nullptr;
  std::string_view rest_;     // not yet scanned, after `segment_`
  std::string_view segment_;  // valid UTF-8
  size_t position_ = 0;       // in `segment_`
};

}  // namespace tessera
