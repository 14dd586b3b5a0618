#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/utf8.h"
#include "tessera/store/text_search.h"

namespace tessera::store {

/// Whether a character lies in [first, last].
inline bool is_in(char32_t character, char32_t first, char32_t last) {
  return character >= first && character <= last;
}

/// The lower case of a letter, the same for both forms of a Greek sigma; other characters stay.
char32_t lower_case(char32_t letter);

/// A text as it is compared, grown piece by piece, and where each of its bytes comes from.
class NormalForm {
 public:
  explicit NormalForm(Matching matching, std::string_view text = {}) : matching_(matching) {
    append(text);
  }

  /// The next bytes of the text, UTF-8; a piece may end inside a character. Bytes that are not
  /// UTF-8 stay as they are.
  void append(std::string_view bytes);

  const std::string& text() const { return text_; }
  /// The bytes of the original that text()[i] stands for: [begin(i), end(i)), counted from its
  /// first one.
  int64_t begin(size_t i) const { return begins_[i]; }
  int64_t end(size_t i) const { return ends_[i]; }
  /// Drops the first bytes of text().
  void drop(size_t bytes);

 private:
  void add(char32_t character, int64_t begin, int64_t end);
  void add_bytes(std::string_view bytes, int64_t begin, int64_t end);

  Matching matching_;
  std::string text_;
  std::vector<int64_t> begins_, ends_;
  utf8::CharacterCutter characters_;
  int64_t read_ = 0;  // bytes of the original that were cut into characters
};

}  // namespace tessera::store
