// tessera plan: how large a memory must be, or how much one of a given size can hold

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "program/cli/memo_verbs.h"
#include "program/cli/program.h"
#include "program/jobs/plan_job.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/plan/counts_file.h"
#include "tessera/plan/planner.h"

namespace tessera::cli {
namespace {

struct PlanArguments {
  jobs::Plan law;
  jobs::Create store;  // of a text
  std::string counts;
  bool json = false;
};

void check(const PlanArguments& options) {
  const jobs::Plan& law = options.law;
  const int laws =
      law.alpha.has_value() + !options.counts.empty() + !options.store.plan_from.empty();
  if (laws != 1) throw UsageError("give one of --alpha, --counts and --text; {} were given", laws);
  if (!law.alpha && law.inputs)
    throw UsageError("--inputs goes with --alpha; a file says itself how many inputs it has");
  if (options.store.plan_from.empty() && !law.outputs)
    throw UsageError("--outputs is missing; say how many different answers there are");
  if (!options.store.plan_from.empty() &&
      (law.outputs || law.runs || law.seed != jobs::Plan().seed || law.error_only))
    throw UsageError("--outputs, --runs, --seed and --error-only go with --alpha or --counts");
  if (law.error.has_value() == law.dimension.has_value())
    throw UsageError(
        "give either --error (to learn the size) or --dimension (to learn what it holds)");
}

theory::LawPlan plan_law(const PlanArguments& options) {
  JobBar bar(jobs::Plan::kDoing);
  if (options.counts.empty()) return options.law.run(std::ref(bar));
  return options.law.run_on(
      theory::planned_counts(theory::read_counts_file(options.counts), *options.law.outputs,
                             "counts of " + options.counts),
      std::ref(bar));
}

void print(const theory::LawPlan& plan, std::optional<int64_t> asked_runs) {
  const theory::MemoryPlan& memory = plan.memory;
  fmt::print("{}, {} inputs, {} outputs\n", plan.law, plan.inputs, plan.outputs);
  if (!std::isinf(memory.samples)) fmt::print("  samples to see      T = {:.0f}\n", memory.samples);
  fmt::print("  dimension           d = {} ({} numbers)\n", memory.dimension,
             memory.dimension * memory.dimension);
  fmt::print("  store the           P = {} most frequent, with equal weight\n", memory.stored);
  fmt::print("  predicted error     {} ({} of it not seen yet; {} per stored item)\n",
             readable_error(memory.error), readable_error(memory.unseen_error),
             readable_error(memory.stored_item_error));
  if (const auto& runs = plan.simulated)
    fmt::print("  simulated           {}, standard error {}, {} runs{}\n",
               readable_error(runs->mean), readable_error(runs->standard_error()), runs->runs,
               runs->mean > 0
                   ? fmt::format(" (predicted / simulated {:.2f})", memory.error / runs->mean)
                   : "; none of them made an error");
  else
    fmt::print(
        "  simulated           {}\n",
        asked_runs == 0
            ? "no: --runs is 0"
            : "no: it would take too long or too much memory; predictions were within about a "
              "tenth of simulations");
  if (plan.schemes.empty()) return;
  fmt::print("\nPredicted error of each scheme in this dimension\n");
  for (const theory::SchemeError& scheme : plan.schemes)
    fmt::print("  {:<24} {}\n", scheme.name, readable_error(scheme.error));
  fmt::print("\nWhat this dimension holds, stored with equal weight\n");
  for (const theory::HeldItems& held : plan.holds)
    fmt::print("  {:>10} associations at an error of {:g} each\n", held.items, held.error_per_item);
}

/// As 'tessera memo create' plans it.
void plan_text(const PlanArguments& options) {
  jobs::Create create = options.store;
  create.error = options.law.error;
  create.dimension = options.law.dimension;
  create.seed = 0;
  const auto made = [&] {
    JobBar bar(jobs::Create::kDoing);
    return create.plan(std::ref(bar));
  }();
  if (options.json) return print_json(made.json());
  print_plan(create.plan_from, made.memory, *made.plan);
}

void run_plan(const PlanArguments& options) {
  check(options);
  if (!options.store.plan_from.empty()) return plan_text(options);
  const theory::LawPlan plan = plan_law(options);
  if (options.json)
    print_json(json_of(plan));
  else
    print(plan, options.law.runs);
}

}  // namespace

void add_plan(Verb& program) {
  auto options = std::make_shared<PlanArguments>();
  Verb& verb = program.verb(jobs::Plan::kName, jobs::Plan::kHelp);
  verb.options(options->law);
  verb.option("--counts", options->counts,
              "Inputs follow the counts in this file: one a line, or name, tab, count");
  const Option text = verb.option(
      "--text", options->store.plan_from,
      "Size a store of documents for this text as 'tessera memo create' does; in a folder every "
      "file is a document");
  verb.option("--exclude", options->store.exclude, std::string(jobs::kExcludeHelp)).needs(text);
  verb.option("--matrices", options->store.matrices, "Matrices of the store")
      .between(1, memo::kMostShards)
      .needs(text);
  verb.option("--tokenizer", options->store.tokenizer,
              "Tokens of the store: byte, bpe (learned from the text, unless another is given) or "
              "the path of a tokenizer")
      .needs(text);
  verb.option("--code", options->store.code, "Code of the store").needs(text);
  verb.flag("--json", options->json, "Print JSON");
  verb.run([options] { run_plan(*options); });
}

}  // namespace tessera::cli
