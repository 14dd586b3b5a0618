#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tessera/memo/exact_correlation_memory.h"

namespace tessera {

/// SHA-256 of bytes given piece by piece.
class Sha256 {
 public:
  Sha256();
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text);
  /// Of everything added; 64 hexadecimal digits. Ends it.
  std::string hex();

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;
};

/// SHA-256 of the configuration's text, a newline, and the entries row by row as 64-bit
/// little-endian numbers: equal for equal content, however it came about, and for nothing else.
std::string content_digest(std::string_view config, const ExactCorrelationMemory& matrix);

}  // namespace tessera
