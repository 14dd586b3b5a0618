#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/checksum.h"
#include "tessera/store/ledger.h"
#include "tessera/store/sqlite.h"

namespace tessera::store {

/// Writes the tokens of one document into the ledger's table 'pieces'.
class PieceWriter {
 public:
  PieceWriter(const sqlite::Database& database, int64_t document, int64_t vocabulary);

  void append(std::span<const int32_t> tokens);
  /// Writes the last, shorter piece.
  void finish();

  int64_t tokens() const { return tokens_; }
  std::string checksum() const { return checksum_.hex(); }

 private:
  void write_piece();

  sqlite::Statement insert_;
  int64_t document_, width_, tokens_ = 0, piece_ = 0;
  std::vector<std::byte> bytes_;
  Checksum checksum_;
};

/// Reads them back and checks them against what was written.
class PieceReader {
 public:
  static memo::TokenPieces pieces(const sqlite::Database& database, const StoredDocument& document,
                                  int64_t vocabulary);

  PieceReader(const sqlite::Database& database, const StoredDocument& document, int64_t vocabulary);
  /// Empty at the end. Valid until the next call.
  std::span<const int32_t> next();

 private:
  void check_end() const;

  std::string path_;
  StoredDocument document_;
  sqlite::Statement rows_;
  int64_t vocabulary_, width_, read_ = 0, piece_ = 0;
  bool ended_ = false;
  std::vector<int32_t> tokens_;
  Checksum checksum_;
};

/// The same tokens in pieces of at most 1024; before each, and at the end, calls watch(tokens so
/// far).
memo::TokenPieces watched(memo::TokenPieces pieces, std::function<void(int64_t tokens)> watch);

}  // namespace tessera::store
