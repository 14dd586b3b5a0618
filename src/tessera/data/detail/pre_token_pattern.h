#pragma once

#include <memory>
#include <string>
#include <string_view>

struct pcre2_real_code_8;

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

}  // namespace tessera
