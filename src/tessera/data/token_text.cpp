#include "tessera/data/token_text.h"

#include <fmt/format.h>

#include <utility>

#include "tessera/base/utf8.h"

namespace tessera {

std::string bytes_of(const Tokenizer& tokenizer, int64_t token) {
  if (!std::in_range<int32_t>(token)) return {};
  const auto id = static_cast<int32_t>(token);
  return tokenizer.has_token(id) ? std::string(tokenizer.token_bytes(id)) : std::string();
}

std::string shown_token(const Tokenizer& tokenizer, int64_t token) {
  const std::string bytes = bytes_of(tokenizer, token);
  if (bytes.empty()) return fmt::format("token:{}", token);
  if (utf8::valid_prefix(bytes) == bytes.size()) return bytes;
  std::string shown = "bytes:";
  for (const char byte : bytes) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return shown;
}

}  // namespace tessera
