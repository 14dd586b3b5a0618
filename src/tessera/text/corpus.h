#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "tessera/base/config.h"
#include "tessera/data/text_source.h"
#include "tessera/data/token_stream.h"
#include "tessera/data/tokenizer.h"
#include "tessera/train/run_folder.h"

namespace tessera {

/// The [data] table of a run: which text, cut into which tokens.
struct CorpusConfig {
  std::string text = {};
  std::string suffix = {};
  std::string tokenizer = "bpe";
  int64_t vocabulary = 4096;
  double validation_share = 0.1;
  int64_t stories = 0;
  int64_t stories_seed = 1;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("text", text,
          "a text file or a folder of them; empty: an installed text (tessera data text)");
    field("suffix", suffix, "in a folder, only files whose names end with this");
    field("tokenizer", tokenizer, "bpe, byte or character; or the path of a tokenizer");
    field("vocabulary", vocabulary, "size of the BPE vocabulary that is learned from the text");
    field("validation_share", validation_share,
          "share of the tokens, at the end of the text, for validation", config::inner_share());
    field("stories", stories,
          "instead of a text: this many generated stories (tessera data stories)");
    field("stories_seed", stories_seed, "random seed of the generated stories");
  }

  /// Throws UsageError on a share outside (0, 1), on a vocabulary that no BPE can have, and on
  /// stories beside a text.
  void check() const;
  /// Throws UsageError unless the tokenizer can be learned or is a file; a resumed run needs
  /// neither.
  void check_tokenizer() const;
};

/// Writes stories for data.stories, which needs one: the library has none of its own.
struct StoryWriter {
  int64_t most_stories = 0;
  TextSource (*write)(int64_t stories, uint64_t seed) = nullptr;
};
/// A program calls it when it starts.
void set_story_writer(const StoryWriter& writer);

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

/// Reads the text (a file may hold many documents, see data/text_source.h), learns or loads
/// the tokenizer and writes tokenizer.json, tokens.safetensors and corpus.json into `folder`;
/// reuses them where they were written from the same configuration and text. A resumed run
/// continues with the tokens that it began with, even where the text has changed or is gone. Draws
/// its progress on `progress` (null: silent). Throws what TextSource, Tokenizer and TokenStream
/// throw, and DataError where the folder's tokens are damaged; UsageError on a share outside (0,
/// 1), a vocabulary that no BPE can have, an unknown tokenizer, and, resuming, another
/// configuration than the folder's; Interrupted after Ctrl-C: then the folder holds no corpus, and
/// the next call starts from the beginning.
Corpus prepare_corpus(const CorpusConfig& config, const std::filesystem::path& folder, Start start,
                      std::FILE* progress);

}  // namespace tessera
