// tessera plan: how large a memory must be, or how much one of a given size can hold

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "tessera/base/config.h"
#include "tessera/base/file.h"
#include "tessera/base/progress.h"
#include "tessera/cli/program.h"
#include "tessera/data/bpe_trainer.h"
#include "tessera/data/tokenizer.h"
#include "tessera/memo/bound_windows.h"
#include "tessera/memo/text_memory_config.h"
#include "tessera/memo/window_memory.h"
#include "tessera/theory/counts_file.h"
#include "tessera/theory/planner.h"

namespace tessera::cli {
namespace {

using config::Json;
using namespace theory;

constexpr int64_t kMostSimulated = 4000000;  // inputs
constexpr double kMostNormals = 4e9;         // inputs * dimensions * runs of a simulation
constexpr int64_t kTextProbes = 2000;
constexpr int64_t kTextStep = 64;  // dimensions of a text memory are multiples of it

struct Options {
  std::optional<double> alpha, error;
  std::optional<int64_t> inputs, outputs, dimension;
  int64_t runs = 10, vocabulary = 4096;
  int32_t heads = 4, layers = 1;
  std::string counts, text, tokenizer = "bpe";
  uint64_t seed = 1;
  bool json = false;
};

void check(const Options& options) {
  const int laws = options.alpha.has_value() + !options.counts.empty() + !options.text.empty();
  if (laws != 1) throw UsageError("give one of --alpha, --counts and --text; {} were given", laws);
  if (options.error.has_value() == options.dimension.has_value())
    throw UsageError(
        "give either --error (to learn the size) or --dimension (to learn what it "
        "holds)");
  if (options.dimension && *options.dimension < 2)
    throw UsageError("--dimension is {}; a memory needs at least 2", *options.dimension);
  if (options.error && !(*options.error > 0 && *options.error < 1))
    throw UsageError("--error is {}; it must lie between 0 and 1", *options.error);
  if (options.text.empty() && !options.outputs)
    throw UsageError("--outputs is missing; say how many different answers there are");
  if (options.alpha && !options.inputs)
    throw UsageError("--alpha needs --inputs: how many different inputs there are");
  if (!options.alpha && options.inputs)
    throw UsageError("--inputs goes with --alpha; a file says itself how many inputs it has");
}

/// What the two sources of a law have in common.
struct Law {
  std::string name;
  RankedLaw ranked;
  double power;  // of the scheme without threshold
  std::function<MemorySummary(const MemoryScheme&)> summarise;
  std::function<AssociationTask()> task;
};

Law law_of(const Options& options) {
  const auto outputs = static_cast<int32_t>(*options.outputs);
  if (options.alpha) {
    const double alpha = *options.alpha;
    const int64_t inputs = *options.inputs;
    return {fmt::format("Zipf law, alpha = {:g}", alpha), RankedLaw::zipf(inputs, alpha),
            1.2 / (2 * alpha),
            [=](const MemoryScheme& scheme) {
              return summarise_zipf_memory(inputs, outputs, alpha, scheme);
            },
            [=] { return zipf_task(inputs, outputs, alpha); }};
  }
  const auto counts = std::make_shared<std::vector<double>>(read_counts_file(options.counts));
  const auto task = std::make_shared<AssociationTask>(counted_task(*counts, outputs));
  return {"counts of " + options.counts, RankedLaw::counted(*counts), 0.3,
          [=](const MemoryScheme& scheme) {
            return summarise_memory(*task, scheme_weights(scheme, task->law));
          },
          [=] { return *task; }};
}

/// Runs of the plan, where that takes seconds.
std::optional<Spread> simulated(const Options& options, const Law& law, const MemoryPlan& plan) {
  const double normals = static_cast<double>(law.ranked.inputs()) *
                         static_cast<double>(plan.dimension) * static_cast<double>(options.runs);
  if (options.runs < 1 || law.ranked.inputs() > kMostSimulated || normals > kMostNormals) return {};
  return simulate_plan(law.task(), plan, options.runs, options.seed);
}

Json plan_of_law(const Options& options) {
  const Law law = law_of(options);
  const OutputLaw outputs = OutputLaw::balanced(*options.outputs);
  const MemoryPlan plan = options.error ? plan_memory(law.ranked, outputs, *options.error)
                                        : best_memory(law.ranked, outputs, *options.dimension,
                                                      std::numeric_limits<double>::infinity());
  Json result = {{"law", law.name},
                 {"inputs", law.ranked.inputs()},
                 {"outputs", *options.outputs},
                 {"samples", std::isinf(plan.samples) ? Json(nullptr) : Json(plan.samples)},
                 {"dimension", plan.dimension},
                 {"stored", plan.stored},
                 {"parameters", plan.dimension * plan.dimension},
                 {"predicted_error", plan.error},
                 {"unseen_error", plan.unseen_error},
                 {"stored_item_error", plan.stored_item_error}};
  if (const auto runs = simulated(options, law, plan))
    result["simulated"] = {{"error", runs->mean},
                           {"standard_deviation", runs->deviation},
                           {"runs", runs->runs},
                           {"predicted_over_simulated", plan.error / runs->mean}};
  for (const SchemeError& scheme :
       scheme_errors(law.summarise, law.ranked.inputs(), law.power, plan))
    result["schemes"].push_back({{"scheme", scheme.name}, {"predicted_error", scheme.error}});
  for (const double error : {0.001, 0.01, 0.1})
    result["holds"].push_back(
        {{"error_per_item", error}, {"items", capacity(outputs, plan.dimension, error)}});
  return result;
}

Tokenizer tokenizer_of(const Options& options, const std::string& text) {
  if (options.tokenizer == "byte") return Tokenizer::bytes(EndOfText::kPresent);
  if (options.tokenizer == "character") return Tokenizer::characters(text, EndOfText::kPresent);
  if (options.tokenizer != "bpe") return Tokenizer::load(options.tokenizer);
  BpeTrainer trainer({.vocabulary_size = options.vocabulary});
  trainer.add_text(text);
  Progress progress(stderr, "Learning tokens", options.vocabulary);
  return trainer.train([&](int64_t tokens) { progress.update(tokens); });
}

/// What a predictor says of the dimension wanted or given.
template <typename Predictor>
Json plan_by(const Predictor& predictor, const char* keys, const Options& options) {
  const int64_t dimension = options.dimension
                                ? *options.dimension
                                : predictor.smallest_dimension(*options.error, kTextStep);
  Json plan = {{"keys", keys},
               {"associations", predictor.associations()},
               {"dimension", dimension > 0 ? Json(dimension) : Json(nullptr)},
               {"error_in_any_dimension", predictor.floor()}};
  if (dimension > 0) {
    const auto [error, standard_error] = predictor.error(dimension);
    plan["predicted_error"] = error;
    plan["standard_error"] = standard_error;
  }
  plan["probes"] = predictor.probes();
  return plan;
}

Json plan_of_text(const Options& options) {
  const std::string text = read_file(options.text);
  const Tokenizer tokenizer = tokenizer_of(options, text);
  const auto tokens = tokenizer.encode(text);
  if (static_cast<int64_t>(tokens.size()) <= options.heads)
    throw DataError(options.text, "holds {} tokens; a window of {} and its next token need more",
                    tokens.size(), options.heads);
  Json result = {{"text", options.text},
                 {"tokens", tokens.size()},
                 {"vocabulary", tokenizer.vocabulary_size()},
                 {"heads", options.heads},
                 {"layers", options.layers}};
  const auto add_plan_of = [&](const char* keys, const auto& predictor) {
    result["plans"].push_back(plan_by(predictor, keys, options));
  };
  const auto predictor = [&](WindowMemory::Keys keys) {
    return WindowErrorPredictor(tokens,
                                {.heads = options.heads,
                                 .layers = options.layers,
                                 .vocabulary = tokenizer.vocabulary_size(),
                                 .keys = keys},
                                kTextProbes, options.seed);
  };
  add_plan_of("keys that share parts (as in the paper)",
              predictor(WindowMemory::Keys::kSharedSlots));
  add_plan_of("an independent key per window", predictor(WindowMemory::Keys::kHashedWindows));
  add_plan_of("bound windows, each pair written once",
              BoundWindowPredictor(
                  {tokens}, window_lengths({.heads = options.heads, .layers = options.layers}),
                  tokenizer.vocabulary_size(), kTextProbes, options.seed));
  return result;
}

void print_law(const Json& plan) {
  fmt::print("{}, {} inputs, {} outputs\n", plan["law"].get<std::string>(),
             plan["inputs"].get<int64_t>(), plan["outputs"].get<int64_t>());
  if (!plan["samples"].is_null())
    fmt::print("  samples to see      T = {:.0f}\n", plan["samples"].get<double>());
  fmt::print("  dimension           d = {} ({} numbers)\n", plan["dimension"].get<int64_t>(),
             plan["parameters"].get<int64_t>());
  fmt::print("  store the           P = {} most frequent, with equal weight\n",
             plan["stored"].get<int64_t>());
  fmt::print("  predicted error     {:.4f} ({:.4f} of it not seen yet; {:.4f} per stored item)\n",
             plan["predicted_error"].get<double>(), plan["unseen_error"].get<double>(),
             plan["stored_item_error"].get<double>());
  if (plan.contains("simulated")) {
    const Json& runs = plan["simulated"];
    fmt::print(
        "  simulated           {:.4f} ± {:.4f} over {} runs (predicted / simulated {:.2f})\n",
        runs["error"].get<double>(), runs["standard_deviation"].get<double>(),
        runs["runs"].get<int64_t>(), runs["predicted_over_simulated"].get<double>());
  } else {
    fmt::print("  simulated           not: too large; the prediction errs by about a tenth\n");
  }
  fmt::print("\nPredicted error of each scheme in this dimension\n");
  for (const Json& scheme : plan["schemes"])
    fmt::print("  {:<24} {:.4f}\n", scheme["scheme"].get<std::string>(),
               scheme["predicted_error"].get<double>());
  fmt::print("\nWhat this dimension holds, stored with equal weight\n");
  for (const Json& row : plan["holds"])
    fmt::print("  {:>10} associations at an error of {:g} each\n", row["items"].get<int64_t>(),
               row["error_per_item"].get<double>());
}

void print_text(const Json& plan) {
  fmt::print("{}: {} tokens of {}, {} heads, {} layers\n", plan["text"].get<std::string>(),
             plan["tokens"].get<int64_t>(), plan["vocabulary"].get<int64_t>(),
             plan["heads"].get<int64_t>(), plan["layers"].get<int64_t>());
  for (const Json& row : plan["plans"]) {
    fmt::print("\nWith {}\n  associations        {}\n", row["keys"].get<std::string>(),
               row["associations"].get<int64_t>());
    if (row["dimension"].is_null())
      fmt::print("  dimension           none up to 10^6 is enough\n");
    else
      fmt::print("  dimension           {}\n  predicted error     {:.4f} ± {:.4f} ({} positions)\n",
                 row["dimension"].get<int64_t>(), row["predicted_error"].get<double>(),
                 row["standard_error"].get<double>(), row["probes"].get<int64_t>());
    fmt::print(
        "  in any dimension    {:.4f} (windows that agree, or share parts, and go on "
        "differently)\n",
        row["error_in_any_dimension"].get<double>());
  }
}

void run(const Options& options) {
  check(options);
  const bool of_text = !options.text.empty();
  const Json plan = of_text ? plan_of_text(options) : plan_of_law(options);
  if (options.json)
    fmt::print("{}\n", plan.dump(2));
  else
    of_text ? print_text(plan) : print_law(plan);
}

}  // namespace

void add_plan(Verb& program) {
  auto options = std::make_shared<Options>();
  Verb& verb = program.verb("plan",
                            "How large a memory must be for a given error, or how much a memory of "
                            "a given size can hold");
  verb.option("--alpha", options->alpha, "Inputs follow a Zipf law of this exponent");
  verb.option("--counts", options->counts,
              "Inputs follow the counts in this file: one a line, or name, tab, count");
  verb.option("--text", options->text,
              "Size a correlation memory that stores this text, window by window");
  verb.option("--inputs", options->inputs, "Number of different inputs N (with --alpha)")
      .at_least(1);
  verb.option("--outputs", options->outputs, "Number of different outputs M").at_least(1);
  verb.option("--error", options->error, "Allowed error, between 0 and 1");
  verb.option("--dimension", options->dimension,
              "Dimension of the memory, to compute how much it can hold");
  verb.option("--runs", options->runs, "Simulated runs to check the plan (0: none)").at_least(0);
  verb.option("--heads", options->heads, "Tokens per window (with --text)").between(1, 64);
  verb.option("--layers", options->layers,
              "Layers (with --text); layer k has windows of heads^k tokens, with bound windows "
              "heads * 2^(k-1)")
      .between(1, 8);
  verb.option("--tokenizer", options->tokenizer,
              "bpe, byte or character (learned from the text), or the path of a tokenizer");
  verb.option("--vocabulary", options->vocabulary, "Size of a BPE vocabulary that is learned")
      .between(257, 1 << 20);
  verb.option("--seed", options->seed, "Random seed of the simulation");
  verb.flag("--json", options->json, "Print JSON");
  verb.run([options] { run(*options); });
}

}  // namespace tessera::cli
