// tessera memo create STORE [--dimension D | --plan-from FILE --error E]

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <optional>

#include <string>
#include <vector>

#include "program/cli/document_texts.h"
#include "program/cli/memo_verbs.h"
#include "program/cli/program.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/progress.h"
#include "tessera/data/bpe_trainer.h"
#include "tessera/data/tokenizer.h"
#include "tessera/memo/text_plan.h"
#include "tessera/store/expected_cost.h"
#include "tessera/store/memo_store.h"

namespace tessera::cli {
namespace {

using config::Json;

constexpr int64_t kLearntVocabulary = 4096;

struct MemoCreateArguments {
  std::string store, sample, tokenizer;
  memo::WindowCodeKind code = memo::WindowCodeKind::kBound;
  int64_t dimension = 1024;
  std::optional<int64_t> matrices;
  std::optional<double> error;
  uint64_t seed = 0;
  bool json = false;
};

using Texts = std::vector<std::string>;

Tokenizer learnt_tokenizer(const Texts& sample) {
  BpeTrainer trainer({.vocabulary_size = kLearntVocabulary});
  for (const std::string& text : sample) trainer.add_text(text);
  Progress progress(stderr, "Learning tokens", kLearntVocabulary);
  return trainer.train([&](int64_t tokens) { progress.update(tokens); });
}

Tokenizer tokenizer_of(const MemoCreateArguments& options, const Texts& sample) {
  const std::string kind = !options.tokenizer.empty() ? options.tokenizer
                           : !sample.empty()          ? "bpe"
                                                      : "byte";
  if (kind == "byte") return Tokenizer::bytes(EndOfText::kPresent);
  if (kind != "bpe") return Tokenizer::load(kind);
  if (sample.empty())
    throw UsageError(
        "--tokenizer bpe is learned from the text of --plan-from; give --plan-from, or the path of "
        "a tokenizer");
  return learnt_tokenizer(sample);
}

using Documents = std::vector<std::vector<int32_t>>;

Documents encoded(const Tokenizer& tokenizer, const Texts& sample) {
  Documents documents;
  for (const std::string& text : sample) {
    documents.push_back(tokenizer.encode(text));
    if (const auto end = tokenizer.end_of_text()) documents.back().push_back(*end);
  }
  return documents;
}

/// A plan for the smallest dimension that is predicted to recall the sample with the error allowed,
/// in as many matrices as memory.shards becomes: those asked for, or the cheapest number.
memo::SizePlan planned_size(const MemoCreateArguments& options, memo::TextMemoryConfig& memory,
                            const Documents& documents) {
  const auto choose = [&](const memo::RecallPredictor& predictor) {
    return predictor.plan_for(*options.error);
  };
  const memo::SizePlan plan = options.matrices
                                  ? memo::plan_memory(documents, memory, options.seed, choose)
                                  : memo::plan_shards(documents, memory, options.seed, choose);
  if (!plan.dimension)
    throw UsageError(
        "--error {}: no dimension recalls {} that well; {:.4f} of its tokens follow windows that "
        "are followed by other tokens elsewhere, allow a larger error than that",
        *options.error, options.sample, plan.error_in_any_dimension);
  return plan;
}

/// How large a memory the sample needs, and what it takes to memorize it.
struct Planned {
  memo::SizePlan size;
  store::ExpectedCost cost;
};

/// memory: gets the dimension and the number of matrices of the plan.
Planned planned(const MemoCreateArguments& options, memo::TextMemoryConfig& memory,
                const Tokenizer& tokenizer, const Texts& sample) {
  memory.vocabulary = tokenizer.vocabulary_size();
  const Documents documents = encoded(tokenizer, sample);
  Planned plan{planned_size(options, memory, documents), {}};
  memory.dimension = *plan.size.dimension;
  int64_t bytes = 0;
  for (const std::string& text : sample) bytes += std::ssize(text);
  plan.cost = store::expected_cost(memory, documents, plan.size.associations, bytes);
  return plan;
}

std::string readable_seconds(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", std::max(1.0, seconds));
  return seconds < 5400 ? fmt::format("{:.0f} min", seconds / 60)
                        : fmt::format("{:.1f} h", seconds / 3600);
}

void print_cost(const store::ExpectedCost& cost) {
  fmt::print("  to memorize it: about {}, {} of memory, {} on disk\n",
             readable_seconds(cost.seconds), readable_bytes(cost.memory_bytes),
             readable_bytes(cost.disk_bytes));
}

void print_plan(const MemoCreateArguments& options, const memo::TextMemoryConfig& memory,
                const memo::SizePlan& plan) {
  fmt::print("{}: {} pairs of a window and its next token\n", options.sample, plan.associations);
  fmt::print("  {} {} it with a predicted error of {:.4f} ± {:.4f} ({} positions)\n",
             size_in_words(memory), memory.shards == 1 ? "recalls" : "recall", plan.error,
             plan.standard_error, plan.probes);
  fmt::print(
      "  lower bound at any dimension: {:.4f} (identical windows followed by different tokens)\n",
      plan.error_in_any_dimension);
}

int64_t entries_of(const memo::TextMemoryConfig& memory) {
  return memory.shards * memory.dimension * memory.dimension;
}

Json json_of(const MemoCreateArguments& options, const memo::TextMemoryConfig& memory,
             const Tokenizer& tokenizer, const std::optional<Planned>& plan) {
  Json json = {{"store", options.store},
               {"code", config::enum_name(memory.code)},
               {"dimension", memory.dimension},
               {"matrices", memory.shards},
               {"matrix_bytes", entries_of(memory) * sizeof(int32_t)},
               {"window_lengths", memo::window_lengths(memory)},
               {"tokenizer", tokenizer.description()},
               {"seed", memory.seed}};
  if (plan)
    json["plan"] = {{"pairs", plan->size.associations},
                    {"error", plan->size.error},
                    {"standard_error", plan->size.standard_error},
                    {"error_in_any_dimension", plan->size.error_in_any_dimension},
                    {"positions", plan->size.probes},
                    {"seconds", plan->cost.seconds},
                    {"memory_bytes", plan->cost.memory_bytes},
                    {"disk_bytes", plan->cost.disk_bytes}};
  return json;
}

void run_memo_create(const MemoCreateArguments& options) {
  memo::TextMemoryConfig memory;
  memory.code = options.code;
  memory.dimension = options.dimension;
  memory.shards = static_cast<int32_t>(options.matrices.value_or(1));
  memory.seed = options.seed;
  const Texts sample = options.sample.empty() ? Texts() : document_texts(options.sample);
  const Tokenizer tokenizer = tokenizer_of(options, sample);
  std::optional<Planned> plan;
  if (!sample.empty()) plan = planned(options, memory, tokenizer, sample);
  store::MemoStore::create(options.store, memory, tokenizer);
  if (options.json) return print_json(json_of(options, memory, tokenizer, plan));
  if (plan) {
    print_plan(options, memory, plan->size);
    print_cost(plan->cost);
  }
  fmt::print("{}: {} code, {} ({}), windows of {} tokens, {}, seed {}\n", options.store,
             config::enum_name(options.code), size_in_words(memory),
             readable_bytes(static_cast<double>(entries_of(memory)) * sizeof(int32_t)),
             fmt::join(memo::window_lengths(memory), ", "), tokenizer.description(), memory.seed);
}

}  // namespace

void add_memo_create(Verb& memo) {
  auto options = std::make_shared<MemoCreateArguments>();
  Verb& verb = memo.verb("create", "Create an empty store");
  verb.option("store", options->store, "The folder to create").required();
  Option dimension =
      verb.option("--dimension", options->dimension,
                  "Width d of keys and values, a multiple of 64; a matrix has d^2 numbers");
  Option sample = verb.option("--plan-from", options->sample,
                              "Instead: choose the smallest dimension that recalls this "
                              "file, or the files of this folder, with --error")
                      .excludes(dimension);
  const Option error =
      verb.option("--error", options->error, "Share of tokens that may be recalled wrongly")
          .between(1e-6, 0.999999)
          .needs(sample);
  sample.needs(error);
  verb.option(
          "--matrices", options->matrices,
          "Number of matrices; each window is in one of them, so that many small ones take less "
          "time than one of their size. Without it: 1, or with --plan-from the cheapest number")
      .between(1, 4096);
  verb.option("--tokenizer", options->tokenizer,
              "byte, bpe (4096 tokens, learned from the text of --plan-from) or the path of a "
              "tokenizer. Without it: bpe with --plan-from, else byte");
  verb.option("--code", options->code,
              "bound: holds the most and distinguishes the order of tokens; paper: as in Zanzotto "
              "et al. 2025, similar windows recall each other");
  verb.option("--seed", options->seed,
              "Random seed of the codes; only stores with the same seed and sizes can be merged");
  verb.flag("--json", options->json, "Print a JSON object");
  verb.run([options] { run_memo_create(*options); });
}

}  // namespace tessera::cli
