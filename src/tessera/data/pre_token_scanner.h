#pragma once

#include <memory>
#include <string_view>

namespace tessera {

/// Cuts text into the pre-tokens of GPT-2 (Radford et al. 2019, encoder.py): English contractions,
/// then runs of letters, of digits or of other symbols, each with at most one space before it, then
/// runs of white space, of which the last space goes to the word that follows. Classes are
/// Unicode's, as PCRE2 knows them; white space is the property White_Space.
///
/// Text that is not UTF-8 is cut at the invalid bytes first: each longest run of them is one
/// pre-token, and the valid text between is cut as if it stood alone.
///
/// One scanner per thread; linear in the text, whatever it holds.
class PreTokenScanner {
 public:
  PreTokenScanner();
  ~PreTokenScanner();
  PreTokenScanner(PreTokenScanner&&) noexcept;
  PreTokenScanner& operator=(PreTokenScanner&&) noexcept;

  /// `text` must outlive the scan.
  void start(std::string_view text);
  /// The next pre-token, empty at the end of the text.
  std::string_view next();

 private:
  struct Matcher;

  std::string_view take_invalid_run();

  std::unique_ptr<Matcher> matcher_;
  std::string_view rest_;     // not yet scanned, after `segment_`
  std::string_view segment_;  // valid UTF-8
  size_t position_ = 0;       // in `segment_`
};

}  // namespace tessera
