// tessera memo search STORE WORDS

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "program/cli/memo_verbs.h"
#include "program/cli/program.h"
#include "tessera/base/config.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/memo_writer.h"

namespace tessera::cli {
namespace {

struct SearchOptions {
  std::string store, words;
  int64_t limit = 10;
  bool json = false;
};

/// Line breaks and runs of white space as one space.
std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool space = c == '\n' || c == '\t' || c == ' ';
    if (!space || (!line.empty() && line.back() != ' ')) line += space ? ' ' : c;
  }
  return line;
}

void print_passage(const store::FoundPassage& passage, bool json) {
  if (json)
    print_json({{"document", passage.document},
                {"line", passage.line},
                {"score", passage.score},
                {"text", passage.text}});
  else
    fmt::print("{}:{}: {:.2f}  {}\n", passage.document, passage.line, passage.score,
               one_line(passage.text));
}

void run_search(const SearchOptions& options) {
  if (!store::MemoStore(options.store).ledger().searchable())
    store::MemoWriter writer(options.store);  // indexes what an earlier version stored
  const store::MemoStore store(options.store);
  const auto found = store.ledger().search(options.words, options.limit);
  for (const auto& passage : found) print_passage(passage, options.json);
  fmt::print(stderr, "{}\n", counted(std::ssize(found), "passage"));
}

}  // namespace

void add_memo_search(Verb& memo) {
  auto options = std::make_shared<SearchOptions>();
  Verb& verb = memo.verb("search", "Find the passages that are about some words, best first");
  add_store(verb, options->store);
  verb.option(
          "words", options->words,
          "Words to look for, in any order and form; passages that have more of them, and rarer "
          "ones, come first (BM25)")
      .required();
  verb.option("--limit", options->limit, "Maximum number of passages to print (0: all)")
      .at_least(0);
  verb.flag("--json", options->json, "Print one JSON object per passage");
  verb.run([options] { run_search(*options); });
}

}  // namespace tessera::cli
