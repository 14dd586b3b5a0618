#include "tessera/store/document_text.h"

namespace tessera::store {
namespace {

/// By how much these bytes move a place on.
TextPlace step_over(std::string_view bytes) {
  TextPlace step = {.line = 0};
  for (const char byte : bytes) {
    ++step.byte;
    step.character += (static_cast<uint8_t>(byte) & 0xC0) != 0x80;
    step.line += byte == '\n';
  }
  return step;
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
  const Tokenizer& tokenizer = store.tokenizer();
  std::vector<TextPlace> steps(static_cast<size_t>(tokenizer.vocabulary_size()), {.line = 0});
  for (int32_t token = 0; token < tokenizer.vocabulary_size(); ++token)
    if (token != tokenizer.end_of_text() && tokenizer.has_token(token))
      steps[static_cast<size_t>(token)] = step_over(tokenizer.token_bytes(token));
  std::vector<TextPlace> places;
  TextPlace here;
  int64_t position = 0;
  const auto pass = [&] {
    while (places.size() < positions.size() && positions[places.size()] <= position)
      places.push_back(here);
    return places.size() == positions.size();
  };
  const memo::TokenPieces pieces = store.ledger().pieces(document);
  for (auto piece = pieces(); !piece.empty() && !pass(); piece = pieces())
    for (const int32_t token : piece) {
      if (pass()) break;
      const TextPlace& step = steps[static_cast<size_t>(token)];
      here.byte += step.byte;
      here.character += step.character;
      here.line += step.line;
      ++position;
    }
  places.resize(positions.size(), here);
  return places;
}

}  // namespace tessera::store
