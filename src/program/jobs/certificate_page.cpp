#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "program/jobs/erase_job.h"
#include "tessera/report/page.h"

namespace tessera::jobs {
namespace {

void add_verdict(Page& page, const store::Certificate& certificate) {
  const size_t count = certificate.erased.size();
  if (!certificate.proves())
    return page.warning("The erasure is not complete: see the files and digests below.");
  page.conclusion(fmt::format(
      "{} erased. The store is the one that it would be if it had never held {}, and no remains "
      "were found in any of its files.",
      count == 1 ? "One document was" : fmt::format("{} documents were", count),
      count == 1 ? "it" : "them"));
}

void add_erased(Page& page, const store::Certificate& certificate) {
  page.section("What was erased");
  Table table("", {"Document", "Bytes", "Tokens", "SHA-256 of its text"});
  for (const auto& [id, digest, bytes, tokens] : certificate.erased)
    table.add_row({id, bytes, tokens, digest});
  page.table(table);
}

void add_memory(Page& page, const store::Certificate& certificate) {
  page.section("The store's memory");
  const bool same = certificate.digest_after == certificate.digest_without;
  const store::LedgerTotals& remaining = certificate.remaining;
  page.facts(
      {{"Digest before", certificate.digest_before},
       {"Digest after", certificate.digest_after},
       {"Digest rebuilt", certificate.digest_without + (same ? ": the same as after the erasure"
                                                             : ": another than after the erasure")},
       {"Remaining", fmt::format("{} document{}, {} tokens", remaining.documents,
                                 remaining.documents == 1 ? "" : "s", remaining.tokens)}});
  page.paragraph(
      "The digest rebuilt is that of a memory built from the remaining documents alone.");
}

void add_scan(Page& page, const store::Certificate& certificate, const std::string& looked_for) {
  page.section("What was scanned");
  page.paragraph("Every file of the store, byte by byte, for " + looked_for + ".");
  Table table("", {"File", "Bytes", "Remains found", "SHA-256"});
  for (const auto& [name, bytes, digest, found] : certificate.files)
    table.add_row({name, bytes, found, digest});
  page.table(table);
}

/// json: of the certificate.
void add_signature(Page& page, const config::Json& json) {
  page.section("Signature");
  if (!json.contains("signature")) return page.paragraph("This certificate is not signed.");
  const auto part = [&](const char* name) {
    return json.at("signature").at(name).get<std::string>();
  };
  page.facts({{"Algorithm", part("algorithm")},
              {"Public key", part("public_key")},
              {"Signature", part("value")}});
}

}  // namespace

std::string certificate_page(const store::Certificate& certificate, const config::Json& json) {
  Page page("Certificate of erasure",
            store::utc_time(certificate.time) + ", " + certificate.program);
  add_verdict(page, certificate);
  add_erased(page, certificate);
  add_memory(page, certificate);
  add_scan(page, certificate, json.at("looked_for").get<std::string>());
  add_signature(page, json);
  page.paragraph(
      "This page shows the JSON file beside it, which is the certificate. 'tessera memo verify "
      "STORE --certificate FILE' holds it against the store.");
  return page.html();
}

}  // namespace tessera::jobs
