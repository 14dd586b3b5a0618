#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace tessera::memo {

/// The tokens of one document, piece by piece: each call gives the next piece, valid until the next
/// call; an empty one ends the document.
using TokenPieces = std::function<std::span<const int32_t>()>;

}  // namespace tessera::memo
