#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tessera/base/interrupt.h"
#include "tessera/data/tokenizer.h"

namespace tessera {

struct BpeTrainerConfig {
  int64_t vocabulary_size = 4096;  // the end of text and the 256 bytes included
  int64_t minimum_count = 2;       // pairs seen less often are not merged
  EndOfText end_of_text = EndOfText::kPresent;
};

/// Learns byte-level BPE as Hugging Face's trainer does (Sennrich et al. 2016): texts are cut into
/// GPT-2's pre-tokens; the adjacent pair of tokens that occurs most often in them becomes a new
/// token, again and again. Equal counts: the pair with the smaller left id, then the smaller right
/// id. Ids: the end of text (if any), the 256 bytes in the order of their written characters, the
/// merged tokens in the order of their making. The result depends neither on the order of the texts
/// nor on the machine.
///
/// Differs from Hugging Face's in one point: pre-tokens longer than 256 bytes are counted in parts
/// of 256, which bounds the time that text without spaces takes.
class BpeTrainer {
 public:
  /// Throws UsageError unless the vocabulary holds the bytes and the end of text.
  explicit BpeTrainer(BpeTrainerConfig config);
  ~BpeTrainer();

  /// Sizes that a vocabulary may have.
  static constexpr int64_t kMostTokens = 1 << 24;
  static constexpr int64_t fewest_tokens(EndOfText end_of_text) {
    return 256 + (end_of_text == EndOfText::kPresent);
  }

  /// Called after every MiB or so of a text with the bytes of it that were counted.
  using OnBytes = std::function<void(int64_t bytes)>;

  /// Counts one document's pre-tokens; memory grows with distinct pre-tokens only.
  void add_text(std::string_view text, const OnBytes& on_bytes = {});

  /// The tokenizer, smaller than asked for if the text has too few pairs. on_progress: tokens of
  /// the vocabulary, at the end all that were asked for. Throws DataError if no text was added.
  Tokenizer train(const OnProgress& on_progress = {}) const;

  /// Bytes of text added.
  int64_t text_bytes() const { return text_bytes_; }

 private:
  struct Words;

  BpeTrainerConfig config_;
  std::unique_ptr<Words> words_;
  int64_t text_bytes_ = 0;
};

/// The tokenizer of these texts. Throws as BpeTrainer does.
Tokenizer learn_bpe(std::span<const std::string> texts, int64_t vocabulary,
                    const OnProgress& on_progress = {});

}  // namespace tessera
