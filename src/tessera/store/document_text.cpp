#include "tessera/store/document_text.h"

namespace tessera::store {
namespace {

bool begins_character(char byte) {
  return (static_cast<uint8_t>(byte) & 0xC0) != 0x80;
}

}  // namespace

void read_text(const MemoStore& store, const StoredDocument& document,
               const std::function<void(int32_t token, std::string_view bytes)>& take) {
  read_text(store.ledger(), store.tokenizer(), document, take);
}

void read_text(const Ledger& ledger, const Tokenizer& tokenizer, const StoredDocument& document,
               const std::function<void(int32_t token, std::string_view bytes)>& take) {
  const memo::TokenPieces pieces = ledger.pieces(document);
  for (auto piece = pieces(); !piece.empty(); piece = pieces())
    for (const int32_t token : piece)
      if (token != tokenizer.end_of_text()) take(token, tokenizer.token_bytes(token));
}

std::string whole_text(const Ledger& ledger, const Tokenizer& tokenizer,
                       const StoredDocument& document) {
  std::string text;
  read_text(ledger, tokenizer, document, [&](int32_t, std::string_view bytes) { text += bytes; });
  return text;
}

std::vector<TextPlace> places_of(const MemoStore& store, const StoredDocument& document,
                                 std::span<const int64_t> positions) {
  std::vector<TextPlace> places;
  TextPlace here;
  int64_t position = 0;
  const auto pass = [&] {
    while (places.size() < positions.size() && positions[places.size()] <= position)
      places.push_back(here);
  };
  read_text(store, document, [&](int32_t, std::string_view bytes) {
    pass();
    for (const char byte : bytes) {
      ++here.byte;
      here.character += begins_character(byte);
      here.line += byte == '\n';
    }
    ++position;
  });
  pass();
  places.resize(positions.size(), here);
  return places;
}

}  // namespace tessera::store
