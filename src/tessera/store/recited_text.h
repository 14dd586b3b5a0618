#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tessera/data/tokenizer.h"

namespace tessera::store {

/// The text of recalled tokens, as they come one after the other. Where a question ends inside a
/// token (Question::rest), they begin with that end again; it is left out.
class RecitedText {
 public:
  /// The tokenizer must outlive it.
  RecitedText(const Tokenizer& tokenizer, std::string rest)
      : tokenizer_(tokenizer), rest_(std::move(rest)) {}

  /// What this token adds to the text.
  std::string_view add(int32_t token);
  const std::string& text() const { return text_; }

 private:
  const Tokenizer& tokenizer_;
  std::string rest_;  // that is to be left out yet
  std::string text_;
};

}  // namespace tessera::store
