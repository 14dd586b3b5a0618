// tessera memo documents STORE

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "program/cli/memo_metadata.h"
#include "program/cli/memo_verbs.h"
#include "program/cli/program.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/report/table.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/store_json.h"

namespace tessera::cli {
namespace {

struct DocumentsOptions {
  std::string store, since, before;
  std::vector<std::string> metadata;
  bool json = false;
};

/// Which documents are listed.
class Filter {
 public:
  explicit Filter(const DocumentsOptions& options) : metadata_(parse_metadata(options.metadata)) {
    if (!options.since.empty()) since_ = parse_day("--since", options.since);
    if (!options.before.empty()) before_ = parse_day("--before", options.before);
  }

  bool passes(const store::DocumentDetails& details) const {
    for (const auto& [key, value] : metadata_) {
      const auto found = details.metadata.find(key);
      if (found == details.metadata.end() || found->second != value) return false;
    }
    return details.memorized >= since_ && details.memorized < before_;
  }

 private:
  store::Metadata metadata_;
  int64_t since_ = INT64_MIN, before_ = INT64_MAX;
};

std::string words_of(const store::Metadata& metadata) {
  std::vector<std::string> words;
  for (const auto& [key, value] : metadata) words.push_back(key + "=" + value);
  return fmt::format("{}", fmt::join(words, ", "));
}

void run_documents(const DocumentsOptions& options) {
  const Filter filter(options);
  const store::MemoStore store(options.store);
  config::Json list = config::Json::array();
  Table table("", {"document", "tokens", "pairs", "bytes", "memorized (UTC)", "metadata"});
  for (const auto& document : store.ledger().documents()) {
    const store::DocumentDetails details = store.ledger().details(document);
    if (!filter.passes(details)) continue;
    list.push_back(store::json_of(document, details));
    table.add_row({document.id, document.tokens, document.pairs,
                   details.digest.empty() ? "-" : fmt::format("{}", details.bytes),
                   readable_time(details.memorized), words_of(details.metadata)});
  }
  if (options.json)
    print_json(list);
  else
    fmt::print("{}", table.text());
  if (const std::string note = erasure_note(store.ledger()); !note.empty())
    fmt::print(stderr, "tessera: {}\n", note);
}

}  // namespace

void add_memo_documents(Verb& memo) {
  auto options = std::make_shared<DocumentsOptions>();
  Verb& verb = memo.verb("documents", "List the documents");
  add_store(verb, options->store);
  verb.option(
      "--meta", options->metadata,
      "KEY=VALUE: only documents that were memorized with this; may be given several times");
  verb.option("--since", options->since,
              "YYYY-MM-DD: only documents memorized on this day (UTC) or later");
  verb.option("--before", options->before, "YYYY-MM-DD: only documents memorized before this day");
  verb.flag("--json", options->json, "Print a JSON array");
  verb.run([options] { run_documents(*options); });
}

}  // namespace tessera::cli
