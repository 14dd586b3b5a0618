#include "tessera/store/recited_text.h"

#include <algorithm>

namespace tessera::store {

std::string_view RecitedText::add(int32_t token) {
  std::string_view bytes = tokenizer_.token_bytes(token);
  const auto repeated = std::ranges::mismatch(bytes, rest_);
  rest_.erase(rest_.begin(), repeated.in2);
  bytes.remove_prefix(static_cast<size_t>(repeated.in1 - bytes.begin()));
  if (!bytes.empty()) rest_.clear();
  text_ += bytes;
  return bytes;
}

}  // namespace tessera::store
