#include "tessera/base/checksum.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

namespace tessera {

struct Checksum::State {
  XXH3_state_t value;
};

Checksum::Checksum() : state_(std::make_unique<State>()) {
  XXH3_64bits_reset(&state_->value);
}
Checksum::~Checksum() = default;

void Checksum::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(&state_->value, bytes.data(), bytes.size());
}

void Checksum::add(std::string_view text) {
  add(std::as_bytes(std::span(text.data(), text.size())));
}

std::string Checksum::hex() const {
  return fmt::format("{:016x}", XXH3_64bits_digest(&state_->value));
}

std::string checksum(std::string_view text) {
  Checksum sum;
  sum.add(text);
  return sum.hex();
}

}  // namespace tessera
