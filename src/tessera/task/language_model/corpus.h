#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "tessera/data/token_stream.h"
#include "tessera/data/tokenizer.h"
#include "tessera/train/trainer.h"

namespace tessera {

/// The [data] table of a run: which text, cut into which tokens.
struct CorpusConfig {
  std::string text;
  std::string suffix;
  std::string tokenizer = "bpe";
  int64_t vocabulary = 4096;
  double validation_share = 0.1;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("text", text, "a text file or a folder of them; empty takes what the machine has");
    field("suffix", suffix, "of a folder's files, only those whose names end so");
    field("tokenizer", tokenizer, "bpe, byte or character, learnt from the text; or a path to one");
    field("vocabulary", vocabulary, "tokens of a BPE vocabulary that is learnt");
    field("validation_share", validation_share, "share of the tokens, at the end, to validate on");
  }
};

/// A text as tokens, split into what is trained on and what is validated on.
struct Corpus {
  std::string description;  ///< one line: which text, how many documents
  Tokenizer tokenizer;
  TokenStream training, validation;
  double bytes_per_token;  ///< of the validation part: the denominator of bits per byte
  std::string digest;      ///< of the tokens, the tokenizer and the split

  /// Bits per byte of text from nats per token.
  double bits_per_byte(double nats_per_token) const;
};

/// Reads the text, learns or loads the tokenizer and writes tokenizer.json, tokens.safetensors and
/// corpus.json into `folder`; takes them over where they are there, made from the same
/// configuration and text. A resumed run goes on with the tokens that it began with, even where
/// the text has changed or gone since. Draws its progress on `progress` (null: silent).
/// Throws what TextSource, Tokenizer and TokenStream throw, and DataError where the folder's tokens
/// are damaged; UsageError on a share outside (0, 1), an unknown tokenizer, and, resuming, another
/// configuration than the folder's.
Corpus prepare_corpus(const CorpusConfig& config, const std::filesystem::path& folder, Start start,
                      std::FILE* progress);

}  // namespace tessera
