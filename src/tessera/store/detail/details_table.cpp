#include "tessera/store/detail/details_table.h"

#include "tessera/store/sqlite.h"

namespace tessera::store {

using sqlite::Statement;

DocumentDetails details_of(const sqlite::Database& ledger, int64_t document) {
  DocumentDetails details;
  Statement row(ledger, "SELECT bytes, memorized, digest FROM details WHERE document = ?1",
                document);
  if (row.step()) {
    details.bytes = row.integer(0);
    details.memorized = row.integer(1);
    details.digest = row.text(2);
  }
  Statement metadata(ledger, "SELECT key, value FROM metadata WHERE document = ?1", document);
  while (metadata.step()) details.metadata[metadata.text(0)] = metadata.text(1);
  return details;
}

void write_details(const sqlite::Database& ledger, int64_t document,
                   const DocumentDetails& details) {
  delete_details(ledger, document);
  Statement(ledger, "INSERT INTO details VALUES (?1, ?2, ?3, ?4)", document, details.bytes,
            details.memorized, details.digest)
      .run();
  for (const auto& [key, value] : details.metadata)
    Statement(ledger, "INSERT INTO metadata VALUES (?1, ?2, ?3)", document, key, value).run();
}

void delete_details(const sqlite::Database& ledger, int64_t document) {
  Statement(ledger, "DELETE FROM details WHERE document = ?1", document).run();
  Statement(ledger, "DELETE FROM metadata WHERE document = ?1", document).run();
}

}  // namespace tessera::store
