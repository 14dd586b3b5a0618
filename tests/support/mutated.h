#pragma once

#include <rapidcheck.h>

#include <string>

namespace tessera::test {

/// Drawn in a property: `bytes` of which up to three are others, cut off somewhere or whole.
inline std::string mutated(std::string bytes) {
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i)
    bytes[*rc::gen::inRange<size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
  if (*rc::gen::arbitrary<bool>()) bytes.resize(*rc::gen::inRange<size_t>(0, bytes.size()));
  return bytes;
}

}  // namespace tessera::test
