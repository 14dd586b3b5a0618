#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/data/tokenizer.h"

namespace tessera {

/// Encodes many texts with one tokenizer, remembering the pre-tokens it has seen, which makes it
/// several times faster than Tokenizer::encode on short texts. For one thread.
class TextEncoder {
 public:
  /// Length of the pieces that a long text is encoded in, roughly.
  static constexpr size_t kPieceBytes = 1 << 20;

  explicit TextEncoder(Tokenizer tokenizer, SpecialTokens special = SpecialTokens::kAsText);
  TextEncoder(TextEncoder&&);
  ~TextEncoder();

  /// Appends the ids of `text`, which are those of Tokenizer::encode.
  void append(std::string_view text, std::vector<int32_t>& ids);

  /// Where a text may be cut so that both parts give their ids alone: the first such place after
  /// `least` bytes, or its end.
  size_t cut(std::string_view text, size_t least) const;
  /// Appends the ids of the bytes from `begin` to `end` of a text, both its ends or places of
  /// cut().
  void append_piece(std::string_view text, size_t begin, size_t end, std::vector<int32_t>& ids);

  /// The same ids piece by piece, so that memory does not grow with the text (except for tokenizers
  /// whose tokens depend on more than a line: one piece). Each call gives the next piece, valid
  /// until the next call; an empty one ends the text. Encoder and text must outlive it.
  std::function<std::span<const int32_t>()> pieces(std::string_view text);

  const Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  /// Of bytes without added tokens, which stand at `offset` of the text.
  void append_plain(std::string_view part, size_t offset, std::vector<int32_t>& ids);

  struct Working;

  Tokenizer tokenizer_;
  bool newlines_separate_;
  std::unique_ptr<Working> working_;
};

}  // namespace tessera
