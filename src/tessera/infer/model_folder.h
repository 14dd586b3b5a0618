#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "tessera/data/tokenizer.h"
#include "tessera/infer/generate.h"
#include "tessera/ops/weight_type.h"

namespace tessera {

class LanguageModel;

/// A model directory with its tokenizer.
struct ModelFolder {
  std::shared_ptr<LanguageModel> model;
  Tokenizer tokenizer;

  /// weights: the numbers that the model's matrices are kept in, those of the folder unless given.
  /// Throws as load_to_read does, and DataError where the tokenizer has more tokens than the model,
  /// or there is none.
  static ModelFolder load(const std::filesystem::path& folder,
                          std::optional<ops::WeightType> weights = {});

  /// The bytes of any id of the model's vocabulary; ids that the tokenizer lacks stand for nothing.
  TokenBytes token_bytes() const;
  std::string text_of(const Tokens& tokens) const;
};

}  // namespace tessera
