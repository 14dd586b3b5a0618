// tessera memo forget | documents | find

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/cli/memo_verbs.h"
#include "tessera/cli/program.h"
#include "tessera/report/table.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/memo_writer.h"
#include "tessera/store/text_search.h"

namespace tessera::cli {
namespace {

struct ForgetOptions {
  std::string store;
  std::vector<std::string> ids;
};

/// Says of one that is not there which may have been meant, before any is forgotten.
std::vector<StoredDocument> find_all(const Ledger& ledger, const std::vector<std::string>& ids) {
  std::vector<StoredDocument> documents;
  for (const auto& id : ids) {
    documents.push_back(ledger.get(id));
    for (size_t i = 0; i + 1 < documents.size(); ++i)
      if (documents[i].id == id) throw UsageError("'{}' is named twice", id);
  }
  return documents;
}

void run_forget(const ForgetOptions& options) {
  MemoWriter writer(options.store);
  int64_t tokens = 0, done = 0;
  const auto documents = find_all(writer.ledger(), options.ids);
  for (const auto& document : documents) tokens += document.tokens;
  const InterruptGuard interrupt;
  Progress progress(stderr, "Forgetting", tokens);
  for (const auto& document : documents) {
    if (InterruptGuard::interrupted()) break;
    writer.forget(document.id,
                  [&](int64_t so_far, int64_t) { progress.update(done + so_far, document.id); });
    done += document.tokens;
    progress.wipe();
    fmt::print("{}: forgotten, {} tokens\n", document.id, document.tokens);
    std::fflush(stdout);
  }
  progress.update(done);
  writer.checkpoint();
  if (done < tokens) throw Interrupted("interrupted; what is printed is forgotten, the rest kept");
}

struct DocumentsOptions {
  std::string store;
  bool json = false;
};

void run_documents(const DocumentsOptions& options) {
  const MemoStore store(options.store);
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
}

struct FindOptions {
  std::string store, text;
  int64_t limit = 20;
  bool json = false;
};

void print_match(const FindOptions& options, const TextMatch& match) {
  if (options.json)
    print_json({{"document", match.document},
                {"line", match.line},
                {"byte", match.byte},
                {"before", match.before},
                {"after", match.after}});
  else
    fmt::print("{}:{}: {}{}{}\n", match.document, match.line, match.before, options.text,
               match.after);
}

void run_find(const FindOptions& options) {
  if (options.text.empty()) throw UsageError("the text to find is empty");
  const MemoStore store(options.store);
  int64_t places = 0, documents = 0;
  for (const auto& document : store.ledger().documents()) {
    const int64_t before = places;
    find_text(options.text, document.id, store.ledger().pieces(document), store.tokenizer(),
              [&](const TextMatch& match) {
                if (++places <= options.limit || options.limit == 0) print_match(options, match);
                return true;
              });
    documents += places > before;
  }
  fmt::print(stderr, "{} in {}{}\n", counted(places, "place"), counted(documents, "document"),
             options.limit > 0 && places > options.limit ? "; --limit 0 prints all" : "");
}

}  // namespace

void add_memo_forget(CLI::App& memo) {
  auto options = std::make_shared<ForgetOptions>();
  CLI::App* verb =
      memo.add_subcommand("forget", "Forget documents: as if the store had never held them");
  add_store(*verb, options->store);
  verb->add_option("id", options->ids, "Ids of documents, as 'memo documents' prints them")
      ->required();
  verb->callback([options] { run_forget(*options); });
}

void add_memo_documents(CLI::App& memo) {
  auto options = std::make_shared<DocumentsOptions>();
  CLI::App* verb = memo.add_subcommand("documents", "List the documents");
  add_store(*verb, options->store);
  verb->add_flag("--json", options->json, "Print a JSON array");
  verb->callback([options] { run_documents(*options); });
}

void add_memo_find(CLI::App& memo) {
  auto options = std::make_shared<FindOptions>();
  CLI::App* verb = memo.add_subcommand("find", "Which documents say this, and on which line");
  add_store(*verb, options->store);
  verb->add_option("text", options->text, "What to look for, letter by letter")->required();
  verb->add_option("--limit", options->limit, "Places to print (0: all)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb->add_flag("--json", options->json, "One JSON object a place");
  verb->callback([options] { run_find(*options); });
}

}  // namespace tessera::cli
