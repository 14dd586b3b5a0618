#include "program/jobs/store_files.h"

#include <fmt/format.h>

#include <utility>

#include "tessera/base/error.h"
#include "tessera/data/bpe_trainer.h"
#include "tessera/data/text_source.h"
#include "tessera/data/tokenizer.h"
#include "tessera/memo/text_plan.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/merge.h"
#include "tessera/store/rebuild.h"

namespace tessera::jobs {
namespace {

using config::Json;
using store::MemoStore;

using Texts = std::vector<std::string>;

constexpr int64_t kLearnedVocabulary = 4096;

Tokenizer tokenizer_of(const Create& create, const Texts& sample, const OnProgress& on_progress) {
  const std::string& asked = create.tokenizer;
  const std::string name = !asked.empty() ? asked : sample.empty() ? "byte" : "bpe";
  if (name == "byte") return Tokenizer::bytes(EndOfText::kPresent);
  if (name != "bpe") return Tokenizer::load(name);
  check_argument(!sample.empty(),
                 "the tokenizer 'bpe' is learned from the text of a plan; give plan_from, or the "
                 "path of a tokenizer");
  return learn_bpe(sample, kLearnedVocabulary,
                   [&](int64_t tokens) { on_progress(tokens, kLearnedVocabulary); });
}

/// Each document's tokens.
using Encoded = std::vector<std::vector<int32_t>>;

Encoded encoded(const Tokenizer& tokenizer, const Texts& sample) {
  Encoded documents;
  for (const std::string& text : sample) {
    documents.push_back(tokenizer.encode(text));
    if (const auto end = tokenizer.end_of_text()) documents.back().push_back(*end);
  }
  return documents;
}

/// A plan for the smallest dimension that is predicted to recall the sample with the error allowed,
/// in as many matrices as memory.shards becomes: those asked for, or the cheapest number.
memo::SizePlan planned_size(const Create& create, memo::TextMemoryConfig& memory,
                            const Encoded& documents) {
  const auto choose = [&](const memo::RecallPredictor& predictor) {
    return predictor.plan_for(*create.error);
  };
  const memo::SizePlan plan = create.matrices
                                  ? memo::plan_memory(documents, memory, create.seed, choose)
                                  : memo::plan_shards(documents, memory, create.seed, choose);
  if (!plan.dimension)
    throw UsageError(
        "with an error of {} no dimension recalls {}; {:.4f} of its tokens follow windows that are "
        "followed by other tokens elsewhere, allow a larger error than that",
        *create.error, create.plan_from, plan.error_in_any_dimension);
  return plan;
}

/// memory: gets the dimension and the number of matrices of the plan.
Create::Planned planned(const Create& create, memo::TextMemoryConfig& memory,
                        const Tokenizer& tokenizer, const Texts& sample) {
  memory.vocabulary = tokenizer.vocabulary_size();
  const Encoded documents = encoded(tokenizer, sample);
  Create::Planned plan{planned_size(create, memory, documents), {}};
  memory.dimension = *plan.size.dimension;
  int64_t bytes = 0;
  for (const std::string& text : sample) bytes += std::ssize(text);
  plan.cost = store::expected_cost(memory, documents, plan.size.associations, bytes);
  return plan;
}

}  // namespace

Create::Answer Create::run(const std::filesystem::path& store,
                           const OnProgress& on_progress) const {
  const bool plans = !plan_from.empty();
  check_argument(plans == error.has_value(),
                 "a plan needs both plan_from, the text, and error, which is allowed; one is "
                 "missing");
  check_argument(!plans || !dimension, "give either plan_from or dimension, not both");
  Answer answer{.store = store, .memory = {}, .tokenizer = {}, .plan = {}};
  memo::TextMemoryConfig& memory = answer.memory;
  memory.code = code;
  memory.dimension = dimension.value_or(1024);
  memory.shards = static_cast<int32_t>(matrices.value_or(1));
  memory.seed = seed;
  const Texts sample = plans ? read_texts(plan_from) : Texts();
  const Tokenizer tokenizer = tokenizer_of(*this, sample, on_progress);
  answer.tokenizer = tokenizer.description();
  if (plans) answer.plan = planned(*this, memory, tokenizer, sample);
  MemoStore::create(store, memory, tokenizer);
  return answer;
}

Json Create::Answer::json() const {
  Json json = {{"store", store.native()},
               {"code", config::enum_name(memory.code)},
               {"dimension", memory.dimension},
               {"matrices", memory.shards},
               {"matrix_bytes", numbers() * sizeof(int32_t)},
               {"window_lengths", memo::window_lengths(memory)},
               {"tokenizer", tokenizer},
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

Merge::Answer Merge::run(const std::filesystem::path& store, const OnProgress& on_progress) const {
  const int64_t count = std::ssize(stores);
  return {store, count,
          store::merge_stores(store, {stores.begin(), stores.end()},
                              [&](int64_t done) { on_progress(done, count); })};
}

Json Merge::Answer::json() const {
  return {{"store", store.native()},
          {"stores", stores},
          {"documents", totals.documents},
          {"tokens", totals.tokens},
          {"pairs", totals.pairs}};
}

Rebuild::Answer Rebuild::run(const std::filesystem::path& store,
                             const OnProgress& on_progress) const {
  const auto learned = [&] {
    return store::tokenizer_of_documents(store, vocabulary,
                                         [&](int64_t tokens) { on_progress(tokens, vocabulary); });
  };
  const Tokenizer tokens = tokenizer == "byte"  ? Tokenizer::bytes(EndOfText::kPresent)
                           : tokenizer == "bpe" ? learned()
                                                : Tokenizer::load(tokenizer);
  const int64_t documents = MemoStore(store).ledger().totals().documents;
  return {store,
          store::rebuild_store(store, tokens, [&](int64_t done) { on_progress(done, documents); }),
          tokens.description()};
}

Json Rebuild::Answer::json() const {
  return {{"documents", totals.documents},
          {"tokens", totals.tokens},
          {"pairs", totals.pairs},
          {"tokenizer", tokenizer}};
}

Export::Answer Export::run(const std::filesystem::path& store, const OnProgress&) const {
  store::export_memory(MemoStore(store), out);
  return {out, std::filesystem::file_size(out)};
}

Json Export::Answer::json() const {
  return {{"file", file.native()}, {"bytes", bytes}};
}

}  // namespace tessera::jobs
