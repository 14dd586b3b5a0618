#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "tessera/data/tokenizer.h"
#include "tessera/infer/generate.h"

namespace tessera {

class LanguageModel;

/// A model directory with its tokenizer.
struct ModelFolder {
  std::shared_ptr<LanguageModel> model;
  Tokenizer tokenizer;

  /// Throws DataError where the tokenizer has more tokens than the model, or there is none.
  static ModelFolder load(const std::filesystem::path& folder);

  /// The bytes of any id of the model's vocabulary; ids that the tokenizer lacks stand for nothing.
  TokenBytes token_bytes() const;
  std::string text_of(const Tokens& tokens) const;
};

}  // namespace tessera
