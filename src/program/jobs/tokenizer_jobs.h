#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/data/tokenizer.h"

/// What can be asked of a tokenizer: `tessera tokenizer`, /tokenize, /detokenize, and a model's
/// methods in Python.
namespace tessera::jobs {

/// The token ids of a text.
struct Encode {
  static constexpr std::string_view kName = "encode";
  static constexpr std::string_view kHelp = "The token ids of a text";

  std::string text;
  bool special = false;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("text", text, "the text", config::required());
    field("special", special, "recognise special tokens such as <|endoftext|>");
  }

  struct Answer {
    std::vector<int64_t> tokens;

    config::Json json() const;
  };
  /// Throws DataError where the tokenizer cannot encode the text.
  Answer run(const Tokenizer& tokenizer) const;
};

/// The text that token ids stand for.
struct Decode {
  static constexpr std::string_view kName = "decode";
  static constexpr std::string_view kHelp = "The text that token ids stand for";

  std::vector<int64_t> tokens;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("tokens", tokens, "the token ids", config::required());
  }

  struct Answer {
    std::string text;  ///< its bytes

    config::Json json() const;
  };
  /// Throws UsageError on an id that the tokenizer does not have.
  Answer run(const Tokenizer& tokenizer) const;
};

}  // namespace tessera::jobs
