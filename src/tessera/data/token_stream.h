#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/file.h"
#include "tessera/data/text_encoder.h"
#include "tessera/data/tokenizer.h"

namespace tessera {

/// What a file of tokens says about itself.
struct TokenStreamInfo {
  uint64_t tokenizer_digest = 0;  // Tokenizer::digest of the tokenizer that wrote it
  int64_t vocabulary_size = 0;
  int64_t documents = 0;
  int64_t text_bytes = 0;  // of the documents, without what joins them
};

/// The ids of a corpus in one line, from a memory-mapped file. A value: copies and slices share the
/// tokens. May be read from several threads at once.
///
/// The file is a safetensors file with one tensor "tokens", U16 where the vocabulary fits, else
/// I32; the numbers of TokenStreamInfo are its metadata. Documents are joined by the tokenizer's
/// end of text, one after each document (none if the tokenizer has none).
class TokenStream {
 public:
  /// Maps the file; the tokens are checked when they are read. Throws SystemError, DataError.
  static TokenStream open(const std::filesystem::path& path);

  int64_t size() const { return end_ - begin_; }

  /// Copies the ids from `begin` on. Throws UsageError if they reach past the end,
  /// DataError on an id outside the vocabulary.
  void read(int64_t begin, std::span<int64_t> ids) const;

  TokenStream slice(int64_t begin, int64_t end) const;

  /// The first floor(n (1 - fraction)) tokens to train on, the rest to validate; nanoGPT's rule is
  /// fraction 0.1. fraction in (0, 1).
  std::pair<TokenStream, TokenStream> split_tail(double fraction) const;

  /// Of the whole stream, whatever the slice.
  const TokenStreamInfo& info() const;
  int64_t vocabulary_size() const { return info().vocabulary_size; }

  /// Bytes of text that this slice's tokens decode to, ends of text not counted: the denominator of
  /// bits per byte. Throws DataError unless `tokenizer` wrote the stream.
  int64_t text_bytes(const Tokenizer& tokenizer) const;

 private:
  struct Storage;
  TokenStream(std::shared_ptr<const Storage> storage, int64_t begin, int64_t end)
      : storage_(std::move(storage)), begin_(begin), end_(end) {}

  std::shared_ptr<const Storage> storage_;
  int64_t begin_, end_;
};

/// Writes a TokenStream's file document by document; it appears whole at finish() or not at all.
/// Memory does not grow with the text.
class TokenStreamWriter {
 public:
  /// Called after every piece of a document (TextEncoder::kPieceBytes) with the tokens written so
  /// far. What it throws ends the writing; nothing is left of the file.
  using OnPiece = std::function<void(int64_t tokens)>;

  TokenStreamWriter(const std::filesystem::path& path, const Tokenizer& tokenizer,
                    OnPiece on_piece = {});

  /// Encodes one document. Special tokens in it are ordinary text.
  void add_document(std::string_view text);

  int64_t tokens() const { return tokens_; }

  /// Throws DataError if no token was written.
  void finish();

 private:
  void write(std::span<const int32_t> ids);

  AtomicFile file_;
  TextEncoder encoder_;
  OnPiece on_piece_;
  TokenStreamInfo info_;
  int64_t tokens_ = 0;
};

/// Rows of consecutive tokens, row-major [rows, length]; targets are the inputs' next tokens.
struct TokenBatch {
  int64_t rows = 0, length = 0;
  std::vector<int64_t> inputs, targets;
};

/// Draws windows of a stream for training and evaluation.
class WindowSampler {
 public:
  /// rows: windows in a batch; length: tokens in a window. Throws DataError if the stream has not
  /// length + 1 tokens.
  WindowSampler(TokenStream stream, int64_t rows, int64_t length, uint64_t seed);

  /// Windows at uniformly random places, with replacement. A pure function of (seed, step, row):
  /// a resumed run draws what the uninterrupted one would have drawn, and batches of other sizes
  /// share their first rows.
  TokenBatch batch(int64_t step) const;

  /// `count` windows spread evenly from the first to the last, always the same; fewer where the
  /// stream has fewer.
  TokenBatch evaluation_windows(int64_t count) const;

 private:
  /// Places at which a window can start.
  int64_t starts() const { return stream_.size() - length_; }
  TokenBatch read(const std::vector<int64_t>& begins) const;

  TokenStream stream_;
  int64_t rows_, length_;
  uint64_t seed_;
};

}  // namespace tessera
