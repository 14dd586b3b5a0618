#include "tessera/store/detail/token_pieces.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/checksum.h"
#include "tessera/base/error.h"

namespace tessera::store {
namespace {

constexpr int64_t kPieceTokens = 65536;
constexpr size_t kWatchedTokens = 1024;  // a piece may take long in a wide matrix

static_assert(std::endian::native == std::endian::little, "the ledger's numbers are little-endian");

/// Returns the largest.
template <typename Token>
uint32_t widen(std::span<const std::byte> bytes, std::span<int32_t> tokens) {
  Token largest = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    Token token;
    std::memcpy(&token, &bytes[i * sizeof token], sizeof token);
    tokens[i] = static_cast<int32_t>(token);
    largest = std::max(largest, token);
  }
  return largest;
}

/// What Ledger::pieces() reads.
class PieceReader {
 public:
  PieceReader(const sqlite::Database& database, const StoredDocument& document, int64_t vocabulary)
      : path_(database.path()),
        document_(document),
        rows_(database, "SELECT piece, tokens FROM pieces WHERE document = ?1 ORDER BY piece",
              document.number),
        vocabulary_(vocabulary),
        width_(token_width(vocabulary)) {}

  std::span<const int32_t> next() {
    if (ended_) return {};
    if (!rows_.step()) {
      ended_ = true;
      check_end();
      return {};
    }
    const auto bytes = rows_.blob(1);
    const int64_t expected = std::min(kPieceTokens, document_.tokens - read_);
    if (expected == 0)  // an empty piece would end the document before its checksum is compared
      throw DataError(path_, "document {}: piece {} follows its {} tokens", document_.number,
                      rows_.integer(0), document_.tokens);
    if (rows_.integer(0) != piece_ || std::ssize(bytes) != expected * width_)
      throw DataError(path_, "document {}: piece {} has {} bytes, expected {} of piece {}",
                      document_.number, rows_.integer(0), bytes.size(), expected * width_, piece_);
    checksum_.add(bytes);
    tokens_.resize(expected);
    const uint32_t largest =
        width_ == 2 ? widen<uint16_t>(bytes, tokens_) : widen<uint32_t>(bytes, tokens_);
    if (largest >= static_cast<uint64_t>(vocabulary_))
      throw DataError(path_, "document {}: token {} in a vocabulary of {}", document_.number,
                      largest, vocabulary_);
    read_ += expected;
    ++piece_;
    return tokens_;
  }

 private:
  void check_end() const {
    if (read_ != document_.tokens || checksum_.hex() != document_.checksum)
      throw DataError(path_,
                      "document {}: its {} tokens are not the {} that were stored; the ledger is "
                      "damaged or was altered",
                      document_.number, read_, document_.tokens);
  }

  std::string path_;
  StoredDocument document_;
  sqlite::Statement rows_;
  int64_t vocabulary_, width_, read_ = 0, piece_ = 0;
  bool ended_ = false;
  std::vector<int32_t> tokens_;
  Checksum checksum_;
};

}  // namespace

int64_t token_width(int64_t vocabulary) {
  return vocabulary <= 65536 ? 2 : 4;
}

void write_pieces(const sqlite::Database& database, const memo::TokenPieces& tokens,
                  int64_t vocabulary, StoredDocument& document) {
  sqlite::Statement insert(database, "INSERT INTO pieces VALUES (?1, ?2, ?3)");
  const int64_t width = token_width(vocabulary);
  int64_t written = 0;  // pieces
  std::vector<std::byte> bytes;
  Checksum checksum;
  const auto write = [&] {
    insert.bind_all(document.number, written++, std::span<const std::byte>(bytes));
    insert.run();
    checksum.add(bytes);
    bytes.clear();
  };
  document.tokens = 0;
  for (auto piece = tokens(); !piece.empty(); piece = tokens())
    for (const int32_t token : piece) {
      for (int64_t i = 0; i < width; ++i)
        bytes.push_back(static_cast<std::byte>(static_cast<uint32_t>(token) >> 8 * i));
      if (++document.tokens % kPieceTokens == 0) write();
    }
  if (!bytes.empty()) write();
  document.checksum = checksum.hex();
}

memo::TokenPieces Ledger::pieces(const StoredDocument& document) const {
  const auto reader = std::make_shared<PieceReader>(database_, document, vocabulary_);
  return [reader] { return reader->next(); };
}

memo::TokenPieces watched(memo::TokenPieces pieces, std::function<void(int64_t tokens)> watch) {
  return [pieces = std::move(pieces), watch = std::move(watch), tokens = int64_t{0},
          rest = std::span<const int32_t>()]() mutable {
    watch(tokens);
    if (rest.empty()) rest = pieces();
    const auto piece = rest.first(std::min(rest.size(), kWatchedTokens));
    rest = rest.subspan(piece.size());
    tokens += std::ssize(piece);
    return piece;
  };
}

}  // namespace tessera::store
