#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tessera {

/// One id per Unicode code point: its place in a sorted list.
class CharacterModel {
 public:
  /// characters: ascending, without repetition.
  explicit CharacterModel(std::vector<char32_t> characters);

  /// Appends the ids of `text`, which stands at byte `offset` of what the caller encodes. Throws
  /// DataError with the place of invalid UTF-8 or of a character that is not in the list.
  void encode(std::string_view text, size_t offset, std::vector<int32_t>& ids) const;

  const std::vector<char32_t>& characters() const { return characters_; }

 private:
  std::vector<char32_t> characters_;
  std::unordered_map<char32_t, int32_t> ids_;
};

}  // namespace tessera
