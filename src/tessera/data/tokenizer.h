#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct TokenizerContent;

/// What encoding does with the names of special tokens ("<|endoftext|>") that stand in the text.
enum class SpecialTokens {
  kAsText,      // ordinary characters: right for text from outside
  kRecognised,  // each becomes its one id: right for prompts that a program composed
};

/// Whether a new tokenizer has a special token that ends a document.
enum class EndOfText { kAbsent, kPresent };

inline constexpr std::string_view kEndOfTextName = "<|endoftext|>";

/// Turns text into ids and back. A value: copies share one immutable vocabulary, and every member
/// may be called from several threads at once.
///
/// Five kinds: bytes (ids are the bytes), characters (the Unicode code points of a training text),
/// byte-level BPE trained here (bpe_trainer.h), GPT-2's BPE, and Hugging Face's tokenizer.json with
/// byte-level BPE. All but characters take any bytes, UTF-8 or not, and decode() gives them back
/// exactly; with add_prefix_space, or added tokens that strip white space, the text comes back
/// changed by just that. Ids equal those of the original implementations on all valid UTF-8.
class Tokenizer {
 public:
  explicit Tokenizer(TokenizerContent content);

  /// Ids 0 to 255 are the bytes; the end of text, if any, is 256.
  static Tokenizer bytes(EndOfText end_of_text);

  /// One id per code point of `text`, ascending; the end of text, if any, comes last. Other
  /// characters cannot be encoded. Throws DataError if `text` is empty or not UTF-8.
  static Tokenizer characters(std::string_view text, EndOfText end_of_text);

  /// From the contents of encoder.json and vocab.bpe. Throws DataError naming the source given.
  static Tokenizer gpt2(std::string_view encoder_json, std::string_view vocab_bpe,
                        const std::string& source = "GPT-2 vocabulary");

  /// From a tokenizer.json, ours or Hugging Face's: BPE, the decoder ByteLevel, the pre-tokenizer
  /// ByteLevel, alone or after a Split by regex as in Llama 3's. A post-processor is ignored: ids
  /// of add_special_tokens=False. Throws DataError that names whatever else there is, and for
  /// damage.
  static Tokenizer parse(std::string_view json, const std::string& source);

  /// From a tokenizer.json, or a folder with one, or a folder with GPT-2's encoder.json and
  /// vocab.bpe (or vocab.json and merges.txt). Files may have 256 MiB. Throws SystemError,
  /// DataError.
  static Tokenizer load(const std::filesystem::path& path);

  /// Writes a tokenizer.json: for BPE in Hugging Face's form, for bytes and characters in one of
  /// our own that says so in its first line.
  void save(const std::filesystem::path& path) const;
  std::string to_json() const;

  /// Throws DataError, with the byte offset, on a character that a character tokenizer lacks;
  /// Interrupted in a word of more than a million bytes.
  std::vector<int32_t> encode(std::string_view text,
                              SpecialTokens special = SpecialTokens::kAsText) const;

  /// Throws UsageError on an id that stands for nothing.
  std::string decode(std::span<const int32_t> ids) const;

  /// What one id decodes to: possibly a part of a character only.
  std::string_view token_bytes(int32_t id) const;
  bool has_token(int32_t id) const;

  /// One more than the largest id. Published vocabularies may have holes below it.
  int64_t vocabulary_size() const;
  std::optional<int32_t> end_of_text() const;

  /// A 64-bit hash of all that decides the ids; equal on every machine.
  uint64_t digest() const { return digest_; }

  /// "byte-level BPE, 50257 tokens".
  std::string description() const;

  const TokenizerContent& content() const { return *content_; }

 private:
  std::shared_ptr<const TokenizerContent> content_;
  uint64_t digest_;
};

/// The bytes that a token stands for; none for an id that the tokenizer lacks.
std::string bytes_of(const Tokenizer& tokenizer, int64_t token);

/// A token as OpenAI's API shows it: its text, or "bytes:\xe2\x80" where its bytes alone are not
/// UTF-8; "token:7" where it stands for nothing.
std::string shown_token(const Tokenizer& tokenizer, int64_t token);

}  // namespace tessera
