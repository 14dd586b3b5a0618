#include "tessera/data/detail/byte_alphabet.h"

#include <array>

#include "tessera/base/utf8.h"

namespace tessera {
namespace {

constexpr char32_t kFirstStandIn = 0x100;
constexpr char32_t kCharacters = kFirstStandIn + 68;

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<char32_t, 256> kToCharacter = [] {
  std::array<char32_t, 256> table{};
  char32_t next = kFirstStandIn;
  for (int byte = 0; byte < 256; ++byte)
    table[byte] = stands_for_itself(byte) ? static_cast<char32_t>(byte) : next++;
  return table;
}();

constexpr std::array<int, kCharacters> kToByte = [] {
  std::array<int, kCharacters> table{};
  for (int& byte : table) byte = -1;
  for (int byte = 0; byte < 256; ++byte) table[kToCharacter[byte]] = byte;
  return table;
}();

}  // namespace

char32_t byte_to_character(uint8_t byte) {
  return kToCharacter[byte];
}

std::string bytes_to_alphabet(std::string_view bytes) {
  std::string written;
  for (char byte : bytes) utf8::append(written, byte_to_character(static_cast<uint8_t>(byte)));
  return written;
}

std::optional<std::string> alphabet_to_bytes(std::string_view written) {
  std::string bytes;
  while (!written.empty()) {
    const char32_t character = utf8::take(written);
    if (character >= kCharacters || kToByte[character] < 0) return {};
    bytes += static_cast<char>(kToByte[character]);
  }
  return bytes;
}

}  // namespace tessera
