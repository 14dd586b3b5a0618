#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

/// A 64-bit checksum (XXH3) of bytes given piece by piece: finds damage, not forgery. How the bytes
/// are cut into pieces makes no difference.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;

  void add(std::span<const std::byte> bytes);
  void add(std::string_view text);
  /// Of everything added so far: 16 hexadecimal digits.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The checksum of one text.
std::string checksum(std::string_view text);

}  // namespace tessera
