#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "program/jobs/erase_job.h"
#include "tessera/report/text.h"

namespace tessera::jobs {
namespace {

constexpr const char* kStyle = R"(
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #1b1f24; background: #fff }
h1 { font-size: 1.6rem; margin-bottom: 0 } h2 { font-size: 1.1rem; margin-top: 2rem }
.verdict { padding: .6rem 1rem; border-left: .4rem solid #1a7f37; background: #eef8f0 }
.verdict.bad { border-color: #b42318; background: #fdf0ee }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #d5dae0;
         vertical-align: top }
td.number, th.number { text-align: right }
code { font: .72rem ui-monospace, monospace; overflow-wrap: anywhere }
)";

std::string code(const std::string& text) {
  return fmt::format("<code>{}</code>", escape_markup(text));
}

/// A row of two cells: what, and its value in HTML.
std::string row(const char* what, const std::string& value) {
  return fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", what, value);
}

std::string verdict(const store::Certificate& certificate) {
  const size_t count = certificate.erased.size();
  if (!certificate.proves())
    return "<p class=\"verdict bad\">The erasure is <b>not</b> complete: see the files and digests "
           "below.</p>\n";
  return fmt::format(
      "<p class=\"verdict\">{} erased. The store is the one that it would be if it had never held "
      "{}, and no remains were found in any of its files.</p>\n",
      count == 1 ? "One document was" : fmt::format("{} documents were", count),
      count == 1 ? "it" : "them");
}

std::string erased_table(const store::Certificate& certificate) {
  std::string table =
      "<h2>What was erased</h2>\n<table><tr><th>Document</th><th class=\"number\">Bytes</th>"
      "<th class=\"number\">Tokens</th><th>SHA-256 of its text</th></tr>\n";
  for (const auto& document : certificate.erased)
    table += fmt::format(
        "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td></tr>\n",
        escape_markup(document.id), document.bytes, document.tokens, code(document.digest));
  return table + "</table>\n";
}

std::string memory_table(const store::Certificate& certificate) {
  return "<h2>The store's memory</h2>\n<table>\n" +
         row("Digest before", code(certificate.digest_before)) +
         row("Digest after", code(certificate.digest_after)) +
         row("Digest of a memory built from the remaining documents alone",
             code(certificate.digest_without) +
                 (certificate.digest_after == certificate.digest_without
                      ? ": the same as after the erasure"
                      : ": <b>another</b> than after the erasure")) +
         row("Remaining", fmt::format("{} document{}, {} tokens", certificate.remaining.documents,
                                      certificate.remaining.documents == 1 ? "" : "s",
                                      certificate.remaining.tokens)) +
         "</table>\n";
}

std::string scan_table(const store::Certificate& certificate, const std::string& looked_for) {
  std::string table = fmt::format(
      "<h2>What was scanned</h2>\n<p>Every file of the store, byte by byte, for {}.</p>\n"
      "<table><tr><th>File</th><th class=\"number\">Bytes</th><th class=\"number\">Remains "
      "found</th><th>SHA-256</th></tr>\n",
      escape_markup(looked_for));
  for (const auto& file : certificate.files)
    table += fmt::format(
        "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td></tr>\n",
        escape_markup(file.name), file.bytes, file.found, code(file.digest));
  return table + "</table>\n";
}

/// json: of the certificate.
std::string signature_table(const config::Json& json) {
  if (!json.contains("signature"))
    return "<h2>Signature</h2>\n<p>This certificate is not signed.</p>\n";
  const auto part = [&](const char* name) {
    return json.at("signature").at(name).get<std::string>();
  };
  return "<h2>Signature</h2>\n<table>\n" + row("Algorithm", part("algorithm")) +
         row("Public key", code(part("public_key"))) + row("Signature", code(part("value"))) +
         "</table>\n";
}

}  // namespace

std::string certificate_page(const store::Certificate& certificate, const config::Json& json) {
  const std::string head = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width\">\n<title>Certificate of erasure</title>\n"
      "<style>{}</style></head><body>\n<h1>Certificate of erasure</h1>\n<p>{}, {}</p>\n{}",
      kStyle, escape_markup(store::utc_time(certificate.time)), escape_markup(certificate.program),
      verdict(certificate));
  return head + erased_table(certificate) + memory_table(certificate) +
         scan_table(certificate, json.at("looked_for").get<std::string>()) + signature_table(json) +
         "<p>This page shows the JSON file beside it, which is the certificate. "
         "<code>tessera memo verify STORE --certificate FILE</code> holds it against the store.</p>"
         "\n</body></html>\n";
}

}  // namespace tessera::jobs
