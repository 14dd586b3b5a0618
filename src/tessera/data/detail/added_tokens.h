#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// A token that is found in the text by its name, before the model sees the text.
struct AddedToken {
  std::string name;
  int32_t id = 0;
  bool special = true;       // found only when special tokens are recognised
  bool early = true;         // looked for before those that are not (Hugging Face: not normalized)
  bool strips_left = false;  // takes the white space before it along
  bool strips_right = false;
};

/// Finds added tokens in text as Hugging Face's tokenizers do: the leftmost, of several at one
/// place the longest.
class AddedTokenFinder {
 public:
  /// Finds the tokens of `tokens` with this `early`, the special ones only if asked.
  AddedTokenFinder(const std::vector<AddedToken>& tokens, bool early, bool find_special);

  struct Match {
    size_t begin, end;        // bytes of the text, stripped white space included
    const AddedToken* token;  // null: none up to the end of the text
  };

  /// The first match at or after `from`.
  Match find(std::string_view text, size_t from) const;
  bool empty() const { return empty_; }

 private:
  std::array<std::vector<AddedToken>, 256> by_first_byte_;  // each longest first
  bool empty_ = true;
};

}  // namespace tessera
