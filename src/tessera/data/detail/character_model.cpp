#include "tessera/data/detail/character_model.h"

#include "tessera/base/error.h"
#include "tessera/data/utf8.h"

namespace tessera {

CharacterModel::CharacterModel(std::vector<char32_t> characters)
    : characters_(std::move(characters)) {
  for (size_t id = 0; id < characters_.size(); ++id)
    ids_.emplace(characters_[id], static_cast<int32_t>(id));
}

void CharacterModel::encode(std::string_view text, size_t offset, std::vector<int32_t>& ids) const {
  const size_t valid = utf8::valid_prefix(text);
  if (valid != text.size())
    throw DataError("text",
                    "byte {} is not valid UTF-8, which a character tokenizer needs; convert the "
                    "text or use a byte-level tokenizer",
                    offset + valid);
  for (std::string_view rest = text; !rest.empty();) {
    const size_t place = offset + text.size() - rest.size();
    const char32_t character = utf8::take(rest);
    const auto found = ids_.find(character);
    if (found == ids_.end())
      throw DataError(
          "text",
          "byte {}: the character U+{:04X} is not among the tokenizer's {}; train it on "
          "text that has it, or use a byte-level tokenizer",
          place, static_cast<uint32_t>(character), characters_.size());
    ids.push_back(found->second);
  }
}

}  // namespace tessera
