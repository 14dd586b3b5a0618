#pragma once

#include <cstdint>

#include "tessera/store/ledger.h"
#include "tessera/store/sqlite.h"

namespace tessera::store {

/// The rows of one document, which has this number. Each throws as sqlite::Database does.
DocumentDetails details_of(const sqlite::Database& ledger, int64_t document);
/// Replaces them.
void write_details(const sqlite::Database& ledger, int64_t document,
                   const DocumentDetails& details);
void delete_details(const sqlite::Database& ledger, int64_t document);

}  // namespace tessera::store
