#pragma once

#include <cstdint>
#include <functional>

#include "tessera/store/ledger.h"

namespace tessera::store {

/// Bytes for each token in the ledger.
int64_t token_width(int64_t vocabulary);

/// Writes the tokens of a document into the ledger's table 'pieces', under document.number, and
/// sets document.tokens and document.checksum.
void write_pieces(const sqlite::Database& database, const memo::TokenPieces& tokens,
                  int64_t vocabulary, StoredDocument& document);

/// The same tokens in pieces of at most 1024; before each, and at the end, calls watch(tokens so
/// far).
memo::TokenPieces watched(memo::TokenPieces pieces, std::function<void(int64_t tokens)> watch);

}  // namespace tessera::store
