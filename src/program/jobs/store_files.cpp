#include "program/jobs/store_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/machine.h"
#include "tessera/base/new_folder.h"
#include "tessera/base/suggestion.h"
#include "tessera/data/bpe_trainer.h"
#include "tessera/data/tokenizer.h"
#include "tessera/memo/recall_predictor.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/merge.h"
#include "tessera/store/store_json.h"
#include "tessera/store/text_search.h"

namespace tessera::jobs {
namespace {

using config::Json;
using store::MemoStore;

namespace fs = std::filesystem;

using Texts = std::vector<std::string>;

constexpr int64_t kLearnedVocabulary = 4096;

/// The tokenizer that a request names: byte, bpe, which `learn` learns, or the path of one.
Tokenizer named_tokenizer(const std::string& name, const std::function<Tokenizer()>& learn) {
  if (name == "byte") return Tokenizer::bytes(EndOfText::kPresent);
  if (name == "bpe") return learn();
  const std::string meant = suggestion(name, {"bpe", "byte"});
  check_argument(meant.empty() || is_there(name),
                 "tokenizer is '{}', expected bpe, byte, or the path of a tokenizer{}", name,
                 meant);
  return Tokenizer::load(name);
}

Tokenizer tokenizer_of(const Create& create, const Texts& sample, const OnProgress& on_progress) {
  const std::string& asked = create.tokenizer;
  const auto learn = [&] {
    check_argument(!sample.empty(),
                   "the tokenizer 'bpe' is learned from the text that a store is planned for; give "
                   "that text, or the path of a tokenizer");
    return learn_bpe(sample, kLearnedVocabulary, on_progress);
  };
  return named_tokenizer(!asked.empty() ? asked : sample.empty() ? "byte" : "bpe", learn);
}

/// The texts of a plan, all in memory.
Texts sample_of(const Create& create, const fs::path& store) {
  Texts texts;
  const ReadingRules rules{.exclude = create.exclude, .store = store};
  for (const FileDocument& document : documents_of({create.plan_from}, rules))
    document.visit([&](const std::string&, std::string_view text) { texts.emplace_back(text); });
  return texts;
}

/// Each document's tokens.
using Encoded = std::vector<std::vector<int32_t>>;

/// source: of the texts, for messages.
Encoded encoded(const Tokenizer& tokenizer, const Texts& sample, const std::string& source) {
  Encoded documents;
  for (const std::string& text : sample) {
    documents.push_back(saying_source(source, [&] { return tokenizer.encode(text); }));
    if (const auto end = tokenizer.end_of_text()) documents.back().push_back(*end);
  }
  return documents;
}

constexpr int64_t kWidest = 1 << 20;  // dimensions
constexpr double kAboveLeast = 1e-3;
constexpr int64_t kMostPlans = 7;  // one for each number of matrices: 1, 4, …, memo::kMostShards

/// A plan for the dimension given, or for the smallest that is predicted to recall the sample with
/// the error allowed, in as many matrices as memory.shards becomes: those asked for, or the
/// cheapest number.
memo::SizePlan planned_size(const Create& create, memo::TextMemoryConfig& memory,
                            const Encoded& documents, const OnProgress& on_progress) {
  double least = 0;
  int64_t plans = 0;
  const auto choose = [&](const memo::RecallPredictor& predictor) {
    on_progress(plans++, kMostPlans);
    if (create.dimension) return predictor.plan_in(*create.dimension);
    const Spread error = predictor.error(kWidest);
    least = error.mean + error.standard_error();
    return predictor.plan_for(*create.error > 0 ? *create.error : least + kAboveLeast);
  };
  const bool divides = !create.matrices && !create.dimension;
  const memo::SizePlan plan = divides ? memo::plan_shards(documents, memory, create.seed, choose)
                                      : memo::plan_memory(documents, memory, create.seed, choose);
  on_progress(kMostPlans, kMostPlans);
  if (!plan.dimension)
    throw UsageError(
        "with an error of {} no dimension recalls {}: {:.4f} of its tokens follow windows that are "
        "followed by other tokens elsewhere, and with the standard error of this number the least "
        "is {:.4f}; allow more, or give 0 for 0.001 more than the least",
        *create.error, create.plan_from, plan.error_in_any_dimension, least);
  return plan;
}

/// Throws UsageError where this machine cannot hold the matrices.
void check_memory(const memo::TextMemoryConfig& memory) {
  const double d = memory.dimension;
  const double wanted = memory.shards * d * d * sizeof(int32_t);
  const double there = physical_memory();
  if (wanted > there)
    throw UsageError(
        "{} of dimension {} would take {:.1f} GB of memory, this machine has {:.1f} GB; allow a "
        "larger error, or choose a smaller dimension",
        memory.shards == 1 ? "a matrix" : fmt::format("{} matrices", memory.shards),
        memory.dimension, wanted / 1e9, there / 1e9);
}

/// memory: gets the dimension and the number of matrices of the plan.
Create::Planned planned(const Create& create, memo::TextMemoryConfig& memory,
                        const Tokenizer& tokenizer, const Texts& sample,
                        const OnProgress& on_progress) {
  memory.vocabulary = tokenizer.vocabulary_size();
  const Encoded documents = encoded(tokenizer, sample, create.plan_from);
  Create::Planned plan{planned_size(create, memory, documents, on_progress), {}};
  memory.dimension = *plan.size.dimension;
  check_memory(memory);
  int64_t bytes = 0;
  for (const std::string& text : sample) bytes += std::ssize(text);
  plan.cost = store::expected_cost(memory, documents, plan.size.associations, bytes);
  return plan;
}

}  // namespace

Create::Answer Create::sized(const Tokenizer& tokenizer, const Texts& sample,
                             const OnProgress& on_progress) const {
  Answer answer{.store = {}, .memory = {}, .tokenizer = tokenizer.description(), .plan = {}};
  memo::TextMemoryConfig& memory = answer.memory;
  memory.code = code;
  memory.dimension = dimension.value_or(1024);
  memory.shards = static_cast<int32_t>(matrices.value_or(1));
  memory.seed = seed;
  if (plan_from.empty())
    check_memory(memory);
  else
    answer.plan = planned(*this, memory, tokenizer, sample, on_progress);
  return answer;
}

Create::Answer Create::plan(const OnProgress& on_progress) const {
  check_argument(error.has_value() != dimension.has_value(),
                 "give either error (to learn the size) or dimension (to learn what it recalls)");
  const Texts sample = sample_of(*this, {});
  return sized(tokenizer_of(*this, sample, on_progress), sample, on_progress);
}

Create::Answer Create::run(const fs::path& store, const OnProgress& on_progress) const {
  const bool plans = !plan_from.empty();
  check_outside_stores(store);
  if (plans) NewFolder{store};  // throws where none can be made, before a plan that may take long
  check_argument(plans == error.has_value(),
                 "a plan needs both a text to plan from and an allowed error; {}",
                 plans ? "error is missing, for example 0.01" : "plan_from is missing");
  check_argument(!plans || !dimension,
                 "a plan finds the dimension itself; give either a text to plan from or a "
                 "dimension");
  check_argument(plans || exclude.empty(),
                 "exclude is about the folder that a store is planned for; plan_from is missing");
  const Texts sample = plans ? sample_of(*this, store) : Texts();
  const Tokenizer tokenizer = tokenizer_of(*this, sample, on_progress);
  Answer answer = sized(tokenizer, sample, on_progress);
  answer.store = store;
  MemoStore::create(store, answer.memory, tokenizer);
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
                    {"disk_bytes", plan->cost.disk_bytes},
                    {"index_bytes", plan->cost.index_bytes}};
  return json;
}

Merge::Answer Merge::run(const std::filesystem::path& store, const OnProgress& on_progress) const {
  check_outside_stores(store);
  return {store, std::ssize(stores),
          store::merge_stores(store, {stores.begin(), stores.end()}, on_progress)};
}

Json Merge::Answer::json() const {
  Json json = {{"store", store.native()}, {"stores", stores}};
  json.update(store::json_of(totals));
  return json;
}

Rebuild::Answer Rebuild::run(const std::filesystem::path& store,
                             const OnProgress& on_progress) const {
  Answer answer{store, {}, {}};
  const auto learn = [&] { return store::tokenizer_of_documents(store, vocabulary, on_progress); };
  const auto make_tokenizer = [&] {
    Tokenizer made = named_tokenizer(tokenizer, learn);
    answer.tokenizer = made.description();
    return made;
  };
  answer.totals = store::rebuild_store(store, make_tokenizer, on_progress);
  return answer;
}

Json Rebuild::Answer::json() const {
  Json json = store::json_of(totals);
  json["tokenizer"] = tokenizer;
  return json;
}

namespace {

/// Writes every document below a new folder, which appears with all of them.
Export::Answer write_texts(const MemoStore& store, const fs::path& folder,
                           const OnProgress& on_progress) {
  const auto documents = store.ledger().documents();
  std::vector<std::string> ids;
  for (const auto& document : documents) ids.push_back(document.id);
  const auto text_of = [&](size_t document) {
    return store::memorized_text(store.ledger(), store.tokenizer(), documents[document]);
  };
  const WrittenDocuments written = write_documents(folder, ids, text_of, on_progress);
  return {folder, written.bytes, std::ssize(documents), written.renamed};
}

}  // namespace

Export::Answer Export::run(const fs::path& store, const OnProgress& on_progress) const {
  check_argument(out.empty() != texts.empty(),
                 "an export needs either a file for the memory (out) or a folder for the documents "
                 "(texts)");
  check_outside(store, texts.empty() ? "out" : "texts", texts.empty() ? out : texts);
  if (!texts.empty()) return write_texts(MemoStore(store), texts, on_progress);
  store::export_memory(MemoStore(store), out);
  return {out, fs::file_size(out)};
}

Json Export::Answer::json() const {
  Json json = {{"file", file.native()}, {"bytes", bytes}};
  if (documents > 0) json["documents"] = documents;
  for (const auto& [id, name] : renamed)
    json["renamed"].push_back({{"id", id}, {"file", name.native()}});
  return json;
}

}  // namespace tessera::jobs
