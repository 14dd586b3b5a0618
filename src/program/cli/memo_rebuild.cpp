// tessera memo rebuild STORE --tokenizer KIND

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "program/cli/memo_verbs.h"
#include "program/cli/program.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/rebuild.h"

namespace tessera::cli {
namespace {

struct RebuildOptions {
  std::string store, tokenizer;
  int64_t vocabulary = 4096;
  bool json = false;
};

Tokenizer tokenizer_of(const RebuildOptions& options) {
  if (options.tokenizer == "byte") return Tokenizer::bytes(EndOfText::kPresent);
  if (options.tokenizer != "bpe") return Tokenizer::load(options.tokenizer);
  Progress progress(stderr, "Learning tokens", options.vocabulary);
  return store::tokenizer_of_documents(options.store, options.vocabulary,
                                       [&](int64_t tokens) { progress.update(tokens); });
}

void run_rebuild(const RebuildOptions& options) {
  const InterruptGuard interrupt;
  const Tokenizer tokenizer = tokenizer_of(options);
  const int64_t documents = store::MemoStore(options.store).ledger().totals().documents;
  Progress progress(stderr, "Memorizing", documents);
  const store::LedgerTotals totals =
      store::rebuild_store(options.store, tokenizer, [&](int64_t done) { progress.update(done); });
  progress.finish();
  if (options.json)
    print_json({{"documents", totals.documents},
                {"tokens", totals.tokens},
                {"pairs", totals.pairs},
                {"tokenizer", tokenizer.description()}});
  else
    fmt::print("{}: {}, {} tokens, {} pairs, {}\n", options.store,
               counted(totals.documents, "document"), totals.tokens, totals.pairs,
               tokenizer.description());
}

}  // namespace

void add_memo_rebuild(Verb& memo) {
  auto options = std::make_shared<RebuildOptions>();
  Verb& verb =
      memo.verb("rebuild",
                "Give a store another tokenizer: all documents are memorized again, and the "
                "store is replaced in one step");
  add_store(verb, options->store);
  verb.option("--tokenizer", options->tokenizer,
              "bpe (learned from the documents that the store holds now, so that no word of a "
              "forgotten one remains), byte, or the path of a tokenizer")
      .required();
  verb.option("--vocabulary", options->vocabulary, "Size of a BPE vocabulary that is learned")
      .between(257, 1 << 20);
  verb.flag("--json", options->json, "Print a JSON object");
  verb.run([options] { run_rebuild(*options); });
}

}  // namespace tessera::cli
