// tessera memo stat STORE [--measure N]

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tessera/base/config.h"
#include "tessera/base/progress.h"
#include "tessera/cli/memo_verbs.h"
#include "tessera/store/fullness.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/recall_measure.h"

namespace tessera::cli {
namespace {

using config::Json;

struct StatOptions {
  std::string store;
  int64_t measure = 0;
  uint64_t seed = 0;
  bool json = false;
};

Json measured(const MemoStore& store, const StatOptions& options) {
  Progress progress(stderr, "Recalling", options.measure);
  const MeasuredRecall result = measure_recall(store, options.measure, options.seed,
                                               [&](int64_t done) { progress.update(done); });
  const auto positions = static_cast<double>(std::max<int64_t>(1, result.positions));
  return {{"recall", static_cast<double>(result.right) / positions},
          {"abstained", static_cast<double>(result.positions - result.recalled) / positions},
          {"positions", result.positions}};
}

int64_t file_bytes(const std::filesystem::path& path) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(path, missing);
  return missing ? 0 : static_cast<int64_t>(size);
}

Json stat_of(const StatOptions& options) {
  const MemoStore store(options.store);
  const StoreConfig& config = store.config();
  const LedgerTotals totals = store.ledger().totals();
  const MemoryLoad load = memory_load(store.memory());
  Json stat = {{"digest", store.digest()},
               {"documents", totals.documents},
               {"tokens", totals.tokens},
               {"pairs", totals.pairs},
               {"load", load.load},
               {"capacity_pairs", static_cast<int64_t>(load.capacity)},
               {"expected_recall", load.expected_recall},
               {"expected_recall_after", load.expected_recall_after},
               {"code", config::enum_name(config.memory.code)},
               {"dimension", config.memory.dimension},
               {"window_lengths", window_lengths(config.memory)},
               {"vocabulary", config.memory.vocabulary},
               {"tokenizer", store.tokenizer().description()},
               {"seed", config.memory.seed},
               {"bytes",
                {{"matrix", file_bytes(store.path() / "memory.safetensors")},
                 {"ledger", file_bytes(store.path() / "ledger.sqlite")}}}};
  if (options.measure > 0) stat["measured_recall"] = measured(store, options);
  return stat;
}

void print_stat(const Json& stat, const std::string& store) {
  const auto whole = [&](const char* key) { return stat[key].get<int64_t>(); };
  const auto real = [](const Json& value) { return value.get<double>(); };
  fmt::print("{}: {} code, dimension {}, windows of {} tokens, {}, seed {}\n", store,
             stat["code"].get<std::string>(), whole("dimension"),
             fmt::join(stat["window_lengths"].get<std::vector<int64_t>>(), ", "),
             stat["tokenizer"].get<std::string>(), stat["seed"].get<uint64_t>());
  fmt::print("  documents        {}\n  tokens           {}\n  pairs            {}\n",
             whole("documents"), whole("tokens"), whole("pairs"));
  fmt::print("  load             {:.4f} of the {} pairs that are recalled with 99 %; room for {}\n",
             real(stat["load"]), whole("capacity_pairs"),
             std::max<int64_t>(0, whole("capacity_pairs") - whole("pairs")));
  fmt::print("  expected recall ");
  for (size_t k = stat["window_lengths"].size(); k-- > 0;)
    fmt::print(" {:.4f} after {} tokens{}", real(stat["expected_recall_after"][k]),
               stat["window_lengths"][k].get<int64_t>(), k > 0 ? "," : "\n");
  if (stat.contains("measured_recall")) {
    const Json& measured = stat["measured_recall"];
    fmt::print("  measured recall  {:.4f} at {} positions; {:.4f} abstained\n",
               real(measured["recall"]), measured["positions"].get<int64_t>(),
               real(measured["abstained"]));
  }
  fmt::print("  digest           {}\n", stat["digest"].get<std::string>());
  fmt::print("  on disk          {} matrix, {} ledger\n",
             readable_bytes(real(stat["bytes"]["matrix"])),
             readable_bytes(real(stat["bytes"]["ledger"])));
}

void run_stat(const StatOptions& options) {
  const Json stat = stat_of(options);
  if (options.json)
    fmt::print("{}\n", stat.dump(2));
  else
    print_stat(stat, options.store);
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
