#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tessera/store/sqlite.h"

namespace tessera::store {

/// Free words about a document, by key.
using Metadata = std::map<std::string, std::string>;

/// What a store keeps about a document beside its tokens. A document of a ledger of format 1 or 2
/// has no digest and was memorized at time 0 until it is memorized again.
struct DocumentDetails {
  int64_t bytes = 0;      ///< of its text
  int64_t memorized = 0;  ///< seconds since 1970, UTC
  std::string digest;     ///< SHA-256 of its text
  Metadata metadata;

  bool operator==(const DocumentDetails&) const = default;
};

/// The rows of one document, which has this number. Each throws as sqlite::Database does.
DocumentDetails details_of(const sqlite::Database& ledger, int64_t document);
/// Replaces them.
void write_details(const sqlite::Database& ledger, int64_t document,
                   const DocumentDetails& details);
void delete_details(const sqlite::Database& ledger, int64_t document);

}  // namespace tessera::store
