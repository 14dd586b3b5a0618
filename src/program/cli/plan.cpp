// tessera plan: how large a memory must be, or how much one of a given size can hold

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "program/cli/program.h"
#include "program/jobs/plan_job.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/progress.h"
#include "tessera/data/bpe_trainer.h"
#include "tessera/data/text_source.h"
#include "tessera/data/tokenizer.h"
#include "tessera/memo/text_plan.h"
#include "tessera/plan/counts_file.h"
#include "tessera/plan/law_plan.h"

namespace tessera::cli {
namespace {

using config::Json;

struct PlanArguments {
  jobs::Plan law;
  int64_t vocabulary = 4096;
  int32_t heads = 4, layers = 3;
  std::string counts, text, tokenizer = "bpe";
  bool json = false;
};

void check(const PlanArguments& options) {
  const jobs::Plan& law = options.law;
  const int laws = law.alpha.has_value() + !options.counts.empty() + !options.text.empty();
  if (laws != 1) throw UsageError("give one of --alpha, --counts and --text; {} were given", laws);
  if (!law.alpha && law.inputs)
    throw UsageError("--inputs goes with --alpha; a file says itself how many inputs it has");
  if (options.text.empty() && !law.outputs)
    throw UsageError("--outputs is missing; say how many different answers there are");
  if (law.error.has_value() == law.dimension.has_value())
    throw UsageError(
        "give either --error (to learn the size) or --dimension (to learn what it holds)");
}

theory::LawPlan plan_law(const PlanArguments& options) {
  if (options.counts.empty()) return options.law.run();
  return options.law.run_on(theory::planned_counts(theory::read_counts_file(options.counts),
                                                   *options.law.outputs,
                                                   "counts of " + options.counts));
}

void print(const theory::LawPlan& plan, std::optional<int64_t> asked_runs) {
  const theory::MemoryPlan& memory = plan.memory;
  fmt::print("{}, {} inputs, {} outputs\n", plan.law, plan.inputs, plan.outputs);
  if (!std::isinf(memory.samples)) fmt::print("  samples to see      T = {:.0f}\n", memory.samples);
  fmt::print("  dimension           d = {} ({} numbers)\n", memory.dimension,
             memory.dimension * memory.dimension);
  fmt::print("  store the           P = {} most frequent, with equal weight\n", memory.stored);
  fmt::print("  predicted error     {:.4f} ({:.4f} of it not seen yet; {:.4f} per stored item)\n",
             memory.error, memory.unseen_error, memory.stored_item_error);
  if (const auto& runs = plan.simulated)
    fmt::print("  simulated           {:.4f}, standard error {:.4f}, {} runs{}\n", runs->mean,
               runs->standard_error(), runs->runs,
               runs->mean > 0
                   ? fmt::format(" (predicted / simulated {:.2f})", memory.error / runs->mean)
                   : "; none of them made an error");
  else
    fmt::print("  simulated           {}\n",
               asked_runs == 0 ? "no: --runs is 0"
                               : "no: it would take too long; predictions were within about a "
                                 "tenth of simulations");
  fmt::print("\nPredicted error of each scheme in this dimension\n");
  for (const theory::SchemeError& scheme : plan.schemes)
    fmt::print("  {:<24} {:.4f}\n", scheme.name, scheme.error);
  fmt::print("\nWhat this dimension holds, stored with equal weight\n");
  for (const theory::HeldItems& held : plan.holds)
    fmt::print("  {:>10} associations at an error of {:g} each\n", held.items, held.error_per_item);
}

Tokenizer tokenizer_of(const PlanArguments& options, const std::vector<std::string>& texts) {
  if (options.tokenizer == "byte") return Tokenizer::bytes(EndOfText::kPresent);
  if (options.tokenizer == "character")
    return Tokenizer::characters(fmt::format("{}", fmt::join(texts, "")), EndOfText::kPresent);
  if (options.tokenizer != "bpe") return Tokenizer::load(options.tokenizer);
  Progress progress(stderr, "Learning tokens", options.vocabulary);
  return learn_bpe(texts, options.vocabulary, [&](int64_t tokens) { progress.update(tokens); });
}

/// Texts as tokens, with a plan for each kind of keys.
struct PlansOfText {
  std::string text;  // their path
  size_t documents = 0, tokens = 0;
  memo::TextMemoryConfig memory;
  std::vector<memo::TextPlan> plans;
};

PlansOfText plan_text(const PlanArguments& options) {
  const std::vector<std::string> texts = read_texts(options.text);
  const Tokenizer tokenizer = tokenizer_of(options, texts);
  std::vector<std::vector<int32_t>> documents;
  size_t tokens = 0, longest = 0;
  for (const std::string& text : texts) {
    documents.push_back(tokenizer.encode(text));
    tokens += documents.back().size();
    longest = std::max(longest, documents.back().size());
  }
  if (static_cast<int64_t>(longest) <= options.heads)
    throw DataError(options.text, "has {} tokens; a window of {} and its next token need more",
                    longest, options.heads);
  const memo::TextMemoryConfig memory{
      .heads = options.heads, .layers = options.layers, .vocabulary = tokenizer.vocabulary_size()};
  const auto choose = [&](const memo::RecallPredictor& predictor) {
    return options.law.dimension ? predictor.plan_in(*options.law.dimension)
                                 : predictor.plan_for(*options.law.error);
  };
  return {options.text, documents.size(), tokens, memory,
          memo::plan_text(documents, memory, options.law.seed, choose)};
}

Json json_of(const PlansOfText& text) {
  Json json = {{"text", text.text},          {"documents", text.documents},
               {"tokens", text.tokens},      {"vocabulary", text.memory.vocabulary},
               {"heads", text.memory.heads}, {"layers", text.memory.layers}};
  for (const auto& [keys, size] : text.plans) {
    Json plan = {{"keys", keys},
                 {"associations", size.associations},
                 {"dimension", size.dimension ? Json(*size.dimension) : Json(nullptr)},
                 {"error_in_any_dimension", size.error_in_any_dimension}};
    if (size.dimension) {
      plan["predicted_error"] = size.error;
      plan["standard_error"] = size.standard_error;
    }
    plan["probes"] = size.probes;
    json["plans"].push_back(std::move(plan));
  }
  return json;
}

void print(const PlansOfText& text) {
  fmt::print("{}: {} documents, {} tokens of {}, {} heads, {} layers\n", text.text, text.documents,
             text.tokens, text.memory.vocabulary, text.memory.heads, text.memory.layers);
  for (const auto& [keys, size] : text.plans) {
    fmt::print("\nWith {}\n  associations        {}\n", keys, size.associations);
    if (size.dimension)
      fmt::print("  dimension           {}\n  predicted error     {:.4f} ± {:.4f} ({} positions)\n",
                 *size.dimension, size.error, size.standard_error, size.probes);
    else
      fmt::print("  dimension           none up to 10^6 is enough\n");
    fmt::print(
        "  lower bound         {:.4f} at any dimension (windows that are identical or share parts, "
        "followed by different tokens)\n",
        size.error_in_any_dimension);
  }
}

void run_plan(const PlanArguments& options) {
  check(options);
  const auto show = [&](const auto& plan, const auto&... more) {
    if (options.json)
      fmt::print("{}\n", json_of(plan).dump(2));
    else
      print(plan, more...);
  };
  if (options.text.empty())
    show(plan_law(options), options.law.runs);
  else
    show(plan_text(options));
}

}  // namespace

void add_plan(Verb& program) {
  auto options = std::make_shared<PlanArguments>();
  Verb& verb = program.verb("plan", std::string(jobs::Plan::kHelp));
  verb.options(options->law);
  verb.option("--counts", options->counts,
              "Inputs follow the counts in this file: one a line, or name, tab, count");
  verb.option(
      "--text", options->text,
      "Size a correlation memory that stores this text, window by window; in a folder every "
      "file is a document. Windows and tokens are those of 'tessera memo create' unless "
      "--heads, --layers or --tokenizer is given");
  verb.option("--heads", options->heads, "Tokens per window (with --text)").between(1, 64);
  verb.option("--layers", options->layers,
              "Layers (with --text); layer k has windows of heads^k tokens, with bound windows "
              "heads * 2^(k-1)")
      .between(1, 8);
  verb.option("--tokenizer", options->tokenizer,
              "bpe, byte or character (learned from the text), or the path of a tokenizer");
  verb.option("--vocabulary", options->vocabulary, "Size of a BPE vocabulary that is learned")
      .between(257, 1 << 20);
  verb.flag("--json", options->json, "Print JSON");
  verb.run([options] { run_plan(*options); });
}

}  // namespace tessera::cli
