#pragma once

#include <memory>
#include <string>
#include <string_view>

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;

namespace tessera {

/// A regular expression that cuts text into pre-tokens: its matches, one after another, and the
/// text between two matches. Immutable: threads may share one.
class PreTokenPattern {
 public:
  /// That of GPT-2 (Radford et al. 2019, encoder.py): English contractions, then runs of letters,
  /// of digits or of other symbols, each with at most one space before it, then runs of white
  /// space, of which the last space goes to the word that follows.
  static const PreTokenPattern& gpt2();

  /// The pattern of a tokenizer.json. Those are written for Oniguruma, which Hugging Face's
  /// tokenizers use; this takes what PCRE2 reads in the same way: alternatives, groups, lookahead
  /// and lookbehind, character classes, quantifiers, and the escapes \s \S \d \D \p{…} \P{…} (with
  /// Unicode's general categories) \r \n \t \f \x{…}. Classes are Unicode's, as PCRE2 knows them;
  /// white space is the property White_Space. Throws UsageError that names what is not
  /// supported, also where the pattern can match the empty text.
  explicit PreTokenPattern(std::string_view regex);

  /// As it was given.
  const std::string& text() const { return text_; }
  const pcre2_real_code_8* code() const { return code_.get(); }

 private:
  struct FreeCode {
    void operator()(pcre2_real_code_8* code) const;
  };

  std::string text_;
  std::unique_ptr<pcre2_real_code_8, FreeCode> code_;
};

/// Cuts text into pre-tokens by a pattern.
///
/// Text that is not UTF-8 is cut at the invalid bytes first: each longest run of them is one
/// pre-token, and the valid text between is cut as if it stood alone.
///
/// One scanner per thread. With GPT-2's pattern linear in the text, whatever it holds.
class PreTokenScanner {
 public:
  PreTokenScanner();

  /// Text and pattern must outlive the scan.
  void start(std::string_view text, const PreTokenPattern& pattern = PreTokenPattern::gpt2());
  /// The next pre-token, empty at the end of the text. Throws std::runtime_error where the pattern
  /// needs more steps than PCRE2 allows.
  std::string_view next();

 private:
  struct FreeMatch {
    void operator()(pcre2_real_match_data_8* match) const;
  };

  std::string_view take_invalid_run();
  /// From `position_` to `end`, which becomes the position.
  std::string_view take_until(size_t end);

  std::unique_ptr<pcre2_real_match_data_8, FreeMatch> match_;
  const PreTokenPattern* pattern_ = nullptr;
  std::string_view rest_;     // not yet scanned, after `segment_`
  std::string_view segment_;  // valid UTF-8
  size_t position_ = 0;       // in `segment_`
};

}  // namespace tessera
