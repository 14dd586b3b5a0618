// tessera memo stat STORE [--measure N]

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "program/cli/memo_verbs.h"
#include "tessera/base/config.h"
#include "tessera/base/progress.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/recall_measure.h"
#include "tessera/store/statistics.h"
#include "tessera/store/store_json.h"

namespace tessera::cli {
namespace {

struct StatOptions {
  std::string store;
  int64_t measure = 0;
  uint64_t seed = 0;
  bool json = false;
};

std::optional<store::MeasuredRecall> measured(const store::MemoStore& store,
                                              const StatOptions& options) {
  if (options.measure == 0) return {};
  Progress progress(stderr, "Recalling", options.measure);
  return store::measure_recall(store, options.measure, options.seed,
                               [&](int64_t done) { progress.update(done); });
}

void print(const std::string& name, const store::StoreStatistics& store,
           const std::optional<store::MeasuredRecall>& measured) {
  const auto lengths = memo::window_lengths(store.memory);
  const auto capacity = static_cast<int64_t>(store.fullness.capacity);
  fmt::print("{}: {} code, {}, windows of {} tokens, {}, seed {}\n", name,
             config::enum_name(store.memory.code), size_in_words(store.memory),
             fmt::join(lengths, ", "), store.tokenizer, store.memory.seed);
  fmt::print("  documents        {}\n  tokens           {}\n  pairs            {}\n",
             store.totals.documents, store.totals.tokens, store.totals.pairs);
  fmt::print("  load             {:.4f} of the {} pairs that are recalled with 99 %; room for {}\n",
             store.fullness.filled, capacity, std::max<int64_t>(0, capacity - store.totals.pairs));
  fmt::print("  expected recall ");
  for (size_t k = lengths.size(); k-- > 0;)
    fmt::print(" {:.4f} after {} tokens{}", store.fullness.expected_recall_after[k], lengths[k],
               k > 0 ? "," : "\n");
  if (measured)
    fmt::print(
        "  measured recall  {:.4f}: the share of {} positions where the best token is the right "
        "one; "
        "at {:.4f} of them the evidence is too weak for a recital to begin\n",
        measured->share_right(), measured->positions, measured->share_abstained());
  fmt::print("  digest           {}\n", store.digest);
  fmt::print("  on disk          {} matrix, {} ledger\n",
             readable_bytes(static_cast<double>(store.matrix_bytes)),
             readable_bytes(static_cast<double>(store.ledger_bytes)));
}

void run_stat(const StatOptions& options) {
  const store::MemoStore store(options.store);
  const store::StoreStatistics statistics = store::statistics_of(store);
  const auto recall = measured(store, options);
  if (options.json)
    fmt::print("{}\n", store::json_of(statistics, recall).dump(2));
  else
    print(options.store, statistics, recall);
  if (const std::string note = erasure_note(store.ledger()); !note.empty() && !options.json)
    fmt::print("  not erased       {}\n", note);
}

}  // namespace

void add_memo_stat(Verb& memo) {
  auto options = std::make_shared<StatOptions>();
  Verb& verb =
      memo.verb("stat", "What the store holds, how full it is, and the digest of its memory");
  add_store(verb, options->store);
  verb.option("--measure", options->measure,
              "Measure the recall at this many positions of the documents")
      .at_least(0);
  verb.option("--seed", options->seed, "Random seed of the choice of positions");
  verb.flag("--json", options->json, "Print JSON");
  verb.run([options] { run_stat(*options); });
}

}  // namespace tessera::cli
