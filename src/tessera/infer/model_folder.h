#pragma once

#include <concepts>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "tessera/data/tokenizer.h"
#include "tessera/infer/streaming_session.h"
#include "tessera/ops/number_formats.h"
#include "tessera/sampling/text_writer.h"

namespace tessera {

class LanguageModel;
class SlotReaders;

/// How a model that is only read keeps what it has learned and what it reads.
struct Placement {
  std::optional<ops::WeightType> weights = {};  ///< of its matrices; the directory's unless given
  std::optional<ops::WeightType> pairs = {};    ///< of the pairs stored; float32 unless given
  std::string device = "cpu";
};

/// A model directory with its tokenizer.
struct ModelFolder {
  std::shared_ptr<LanguageModel> model;
  Tokenizer tokenizer;
  std::shared_ptr<const SlotReaders> slot_readers;  ///< none unless they were measured

  /// Throws as named_device, load_to_read, LanguageModel::keep_pairs_in and SlotReaders::load do,
  /// and DataError where the tokenizer has more tokens than the model, or there is none.
  static ModelFolder load(const std::filesystem::path& folder, const Placement& placement = {});

  /// The bytes of any id of the model's vocabulary; ids that the tokenizer lacks stand for nothing.
  TokenBytes token_bytes() const;
  std::string text_of(const Tokens& tokens) const;
  /// As prompts are read: names of special tokens become these.
  Tokens encode(const std::string& text) const;
  /// The same, where an end of text stands for an empty text. Throws UsageError where the tokenizer
  /// has none.
  Tokens encode_prompt(const std::string& text) const;
  /// The same options, with what the tokenizer says of the tokens: their bytes and, unless
  /// ignore_end, which one ends a text.
  template <std::derived_from<WritingOptions> Options>
  Options with_tokenizer(Options options) const {
    options.token_bytes = token_bytes();
    if (!options.ignore_end) options.end_of_text = tokenizer.end_of_text();
    return options;
  }
};

}  // namespace tessera
