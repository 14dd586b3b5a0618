// tessera memo find STORE TEXT

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "program/cli/memo_verbs.h"
#include "program/cli/program.h"
#include "tessera/base/error.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/store_json.h"
#include "tessera/store/text_search.h"

namespace tessera::cli {
namespace {

struct FindOptions {
  std::string store, text;
  int64_t limit = 20;
  bool letter_case = false, exact = false, json = false;

  store::Matching matching() const {
    if (exact) return store::Matching::kBytes;
    return letter_case ? store::Matching::kTyped : store::Matching::kLetters;
  }
};

void print_match(const FindOptions& options, const store::TextMatch& match) {
  if (options.json)
    print_json(store::json_of(match));
  else
    fmt::print("{}:{}: {}{}{}\n", match.document, match.line, match.before, match.text,
               match.after);
}

void run_find(const FindOptions& options) {
  if (options.text.empty()) throw UsageError("the text to find is empty");
  const store::MemoStore store(options.store);
  int64_t places = 0, documents = 0;
  for (const auto& document : store.ledger().documents()) {
    const int64_t before = places;
    store::find_text(options.text, options.matching(), document.id, store.ledger().pieces(document),
                     store.tokenizer(), [&](const store::TextMatch& match) {
                       if (++places <= options.limit || options.limit == 0)
                         print_match(options, match);
                       return true;
                     });
    documents += places > before;
  }
  fmt::print(stderr, "{} in {}{}\n", counted(places, "place"), counted(documents, "document"),
             options.limit > 0 && places > options.limit ? "; --limit 0 prints all" : "");
}

}  // namespace

void add_memo_find(Verb& memo) {
  auto options = std::make_shared<FindOptions>();
  Verb& verb = memo.verb("find", "Find the documents and lines that contain a text");
  add_store(verb, options->store);
  verb.option(
          "text", options->text,
          "The text to look for; line breaks, runs of white space, typographic quotes and dashes, "
          "and upper and lower case make no difference")
      .required();
  verb.flag("--case", options->letter_case, "Distinguish upper and lower case");
  verb.flag("--exact", options->exact, "Find this text only, byte for byte");
  verb.option("--limit", options->limit, "Maximum number of places to print (0: all)").at_least(0);
  verb.flag("--json", options->json, "Print one JSON object per place");
  verb.run([options] { run_find(*options); });
}

}  // namespace tessera::cli
