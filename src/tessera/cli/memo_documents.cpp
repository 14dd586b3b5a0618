// tessera memo documents STORE

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tessera/base/config.h"
#include "tessera/cli/memo_verbs.h"
#include "tessera/cli/program.h"
#include "tessera/report/table.h"
#include "tessera/store/memo_store.h"

namespace tessera::cli {
namespace {

struct DocumentsOptions {
  std::string store;
  bool json = false;
};

void run_documents(const DocumentsOptions& options) {
  const store::MemoStore store(options.store);
  config::Json list = config::Json::array();
  Table table("", {"document", "tokens", "pairs"});
  for (const auto& document : store.ledger().documents()) {
    table.add_row({document.id, document.tokens, document.pairs});
    list.push_back({{"id", document.id},
                    {"tokens", document.tokens},
                    {"pairs", document.pairs},
                    {"checksum", document.checksum}});
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
  verb.flag("--json", options->json, "Print a JSON array");
  verb.run([options] { run_documents(*options); });
}

}  // namespace tessera::cli
