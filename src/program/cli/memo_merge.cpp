// tessera memo merge OUT STORE…

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "program/cli/memo_verbs.h"
#include "program/cli/program.h"
#include "tessera/base/progress.h"
#include "tessera/store/merge.h"

namespace tessera::cli {
namespace {

struct MergeOptions {
  std::string out;
  std::vector<std::string> stores;
  bool json = false;
};

void run_merge(const MergeOptions& options) {
  const auto stores = static_cast<int64_t>(options.stores.size());
  Progress progress(stderr, "Merging", stores);
  const store::LedgerTotals totals =
      store::merge_stores(options.out, {options.stores.begin(), options.stores.end()},
                          [&](int64_t done) { progress.update(done); });
  progress.finish();
  if (options.json)
    return print_json({{"store", options.out},
                       {"stores", stores},
                       {"documents", totals.documents},
                       {"tokens", totals.tokens},
                       {"pairs", totals.pairs}});
  fmt::print("{}: {} of {}, {} tokens, {} pairs\n", options.out,
             counted(totals.documents, "document"), counted(stores, "store"), totals.tokens,
             totals.pairs);
}

}  // namespace

void add_memo_merge(Verb& memo) {
  auto options = std::make_shared<MergeOptions>();
  Verb& verb = memo.verb("merge", "Create a store that holds the documents of several stores");
  verb.option("out", options->out, "The folder to create").required();
  verb.option("store", options->stores,
              "The stores to merge; their sizes, tokenizers and seeds must be equal")
      .required();
  verb.flag("--json", options->json, "Print a JSON object");
  verb.run([options] { run_merge(*options); });
}

}  // namespace tessera::cli
