// Unlearning after TOFU: what is left of authors that a store, a GPT and a Mosaic beside a store
// were made to forget.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "lab/study/memo/studies.h"
#include "lab/study/memo/subjects.h"
#include "tessera/base/error.h"
#include "tessera/base/progress.h"
#include "tessera/base/random.h"
#include "tessera/data/bpe_trainer.h"
#include "tessera/memo/recall_predictor.h"
#include "tessera/memo/text_memory_config.h"
#include "tessera/store/memo_writer.h"
#include "tessera/store/recall_measure.h"
#include "tessera/store/store_token_memory.h"

namespace tessera::memo_study {
namespace {

struct UnlearningSettings {
  int64_t authors = 200;
  std::vector<double> shares = {0.01, 0.05, 0.1};
  int64_t vocabulary = 768;
  double error = 0.05;
  NetworkSettings network;
  int64_t unlearning_epochs = 5;
  double unlearning_rate = 3e-4;
  double beta = 0.1;
  int64_t probes = 100;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("authors", authors, "number of invented authors, with 20 questions each",
          config::between(2, static_cast<double>(kMostAuthors)));
    field("shares", shares, "shares of the authors that are to be forgotten, the last ones",
          config::inner_share());
    field("vocabulary", vocabulary, "tokens, learned from all lines");
    field("error", error, "error that the store is planned for", config::inner_share());
    field("network", network, "the GPT and the Mosaic, and how they learn the answers");
    field("unlearning_epochs", unlearning_epochs, "passes over what is to be forgotten",
          config::at_least(0));
    field("unlearning_rate", unlearning_rate, "step size of unlearning");
    field("beta", beta, "beta of negative preference optimisation", config::above(0));
    field("probes", probes, "maximum number of facts that are asked of each set",
          config::at_least(1));
  }
};

/// How many of the authors stay where this share is forgotten, one or more.
size_t retained_of(int64_t authors, double share) {
  const double all = authors;
  return static_cast<size_t>(all - std::max(1.0, std::round(share * all)));
}

/// The authors, what is learned of them, and what is asked.
class Tofu {
 public:
  Tofu(const UnlearningSettings& settings, uint64_t seed, std::optional<Tokenizer> tokenizer = {})
      : settings_(settings),
        seed_(seed),
        authors_(invented_authors(settings.authors, seed)),
        tokenizer_(tokenizer ? *std::move(tokenizer)
                             : tokenizer_of(authors_, settings.vocabulary)) {}

  const Tokenizer& tokenizer() const { return tokenizer_; }
  const std::vector<InventedAuthor>& authors() const { return authors_; }
  size_t retained(double share) const { return retained_of(settings_.authors, share); }
  /// How many are asked.
  size_t forgotten_questions(double share) const {
    const size_t each = authors_.front().questions.size() / kWordings;
    return std::min<size_t>((authors_.size() - retained(share)) * each, settings_.probes);
  }
  Lines lines(size_t first, size_t end) const {
    Lines lines;
    for (size_t a = first; a < end; ++a)
      for (const AuthorQuestion& question : authors_[a].questions)
        lines.push_back({tokens_of(tokenizer_, question.prompt()),
                         tokens_of(tokenizer_, " " + question.answer + "\n")});
    return lines;
  }
  /// seconds: it took to forget this share.
  Measures measure(const Subject& subject, double share, double seconds = 0) const {
    const size_t kept = retained(share);
    const auto examination = [&](size_t first, size_t end) {
      return Examination(authors_, first, end, tokenizer_, settings_.probes, run_seed(seed_, 8));
    };
    Measures measures{.seconds = seconds};
    examination(kept, authors_.size()).measure_forgotten(subject, measures);
    measures.utility = examination(0, kept).utility(subject);
    return measures;
  }

  /// A network that has learned the lines of the first authors.
  std::shared_ptr<LanguageModel> taught(const std::string& kind, size_t authors) const {
    auto model = new_network(kind, settings_.network, tokenizer_.vocabulary_size(), seed_);
    const Lines all = lines(0, authors);
    learn(*model, settings_.network.epochs, settings_.network.rate, settings_.network.batch, seed_,
          all, [&](const Lines& batch) { return mean_loss(*model, batch); });
    return model;
  }

 private:
  static Tokenizer tokenizer_of(const std::vector<InventedAuthor>& authors, int64_t vocabulary) {
    BpeTrainer trainer({.vocabulary_size = vocabulary});
    for (const InventedAuthor& author : authors) trainer.add_text(author.text());
    return trainer.train();
  }

  const UnlearningSettings& settings_;
  uint64_t seed_;
  std::vector<InventedAuthor> authors_;
  Tokenizer tokenizer_;
};

enum class Way { kAscent, kDifference, kPreference };

/// The full GPT, made to forget the last authors by changing its weights.
Measures unlearn(const Tofu& tofu, const UnlearningSettings& settings, const LanguageModel& full,
                 Way way, double share, uint64_t seed) {
  const auto model = copy_of(full), reference = copy_of(full);
  const size_t kept = tofu.retained(share);
  const Lines forget = tofu.lines(kept, tofu.authors().size()), retain = tofu.lines(0, kept);
  RandomStream random(run_seed(seed, 7));
  const auto loss_of = [&](const Lines& batch) {
    const at::Tensor nats = line_losses(*model, batch);  // -log p of each answer
    at::Tensor loss = -mean_loss(*model, batch);
    if (way == Way::kPreference) {
      const at::Tensor before = [&] {
        const at::NoGradGuard none;
        return line_losses(*reference, batch);
      }();
      loss = at::softplus(settings.beta * (before - nats)).mean() * (2 / settings.beta);
    }
    if (way == Way::kAscent) return loss;
    Lines others;
    while (others.size() < batch.size()) others.push_back(retain[random.below(retain.size())]);
    return loss + mean_loss(*model, others);
  };
  const double seconds = seconds_of([&] {
    learn(*model, settings.unlearning_epochs, settings.unlearning_rate, settings.network.batch,
          seed, forget, loss_of);
  });
  return tofu.measure(network_subject(model), share, seconds);
}

/// The size of a store of all authors.
struct StorePlan {
  memo::TextMemoryConfig memory = {};
  double error = 0;  ///< predicted
};

/// As `tessera memo create --plan-from` chooses it.
StorePlan planned_store(const Tofu& tofu, double allowed, uint64_t seed) {
  const Tokenizer& tokenizer = tofu.tokenizer();
  std::vector<std::vector<int32_t>> documents;
  for (const InventedAuthor& author : tofu.authors()) {
    documents.push_back(tokenizer.encode(author.text()));
    if (const auto end = tokenizer.end_of_text()) documents.back().push_back(*end);
  }
  StorePlan plan{{.vocabulary = tokenizer.vocabulary_size()}};
  const memo::SizePlan size = memo::plan_shards(
      documents, plan.memory, seed,
      [&](const memo::RecallPredictor& predictor) { return predictor.plan_for(allowed); });
  check_argument(size.dimension.has_value(),
                 "error is {}, but {:.4f} of the authors' tokens are recalled in no dimension; "
                 "allow more",
                 allowed, size.error_in_any_dimension);
  plan.memory.dimension = *size.dimension;
  plan.error = size.error;
  return plan;
}

/// A store of the first authors, one document each.
class AuthorStore {
 public:
  explicit AuthorStore(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::filesystem::remove_all(folder_);
  }
  ~AuthorStore() { std::filesystem::remove_all(folder_); }
  AuthorStore(const AuthorStore&) = delete;
  AuthorStore& operator=(const AuthorStore&) = delete;

  /// held: it holds all authors first, and forgets those after the first `kept`.
  void fill(const Tofu& tofu, const memo::TextMemoryConfig& memory, size_t kept, bool held) {
    store::MemoStore::create(folder_, memory, tofu.tokenizer());
    kept_ = kept;
    held_ = held;
    const std::span<const InventedAuthor> all(tofu.authors());
    edit([&](store::MemoWriter& writer) {
      for (const InventedAuthor& author : held ? all : all.first(kept))
        writer.memorize(author.name, author.text(), store::Duplicates::kRefuse);
    });
    if (!held) return;
    seconds_ = seconds_of([&] {
      edit([&](store::MemoWriter& writer) {
        for (const InventedAuthor& author : all.subspan(kept)) writer.forget(author.name);
      });
    });
  }

  bool is(size_t kept, bool held) const { return kept_ == kept && held_ == held; }
  const std::filesystem::path& folder() const { return folder_; }
  double seconds() const { return seconds_; }  ///< that forgetting took

 private:
  template <typename Edit>
  void edit(const Edit& edits) const {
    store::MemoWriter writer(folder_);
    edits(writer);
    writer.checkpoint();
  }

  std::filesystem::path folder_;
  size_t kept_ = 0;
  bool held_ = false;
  double seconds_ = 0;
};

/// One row: a way to forget, and what came of it.
struct Outcome {
  std::string name;
  double share;
  Measures measures;
  double quality;                      ///< p-value against what never learned
  double recall = ResultPoint::kNone;  ///< of the store: share of its tokens
};

/// All parts of the study, each computed when it is first asked for.
class Unlearning {
 public:
  Unlearning(StudyContext& context, const UnlearningSettings& settings)
      : context_(context),
        settings_(settings),
        tofu_(settings, context.seed()),
        progress_(context.progress(), "Unlearning", kParts * std::ssize(settings.shares)) {}

  std::vector<Outcome> outcomes_of(double share) {
    std::vector<Outcome> outcomes;
    const Measures retrained = part("GPT, retrained", share, [&] { return retrain(share); });
    const auto add = [&](const std::string& name, Measures measures, const Measures& reference) {
      const double quality = same_distribution(measures.ratios, reference.ratios);
      outcomes.push_back({name, share, std::move(measures), quality});
    };
    add("GPT, nothing forgotten",
        part("GPT, nothing forgotten", share,
             [&] { return tofu_.measure(network_subject(full()), share); }),
        retrained);
    add("GPT, retrained", retrained, retrained);
    for (const auto& [name, way] :
         {std::pair("GPT, gradient ascent", Way::kAscent),
          std::pair("GPT, gradient difference", Way::kDifference),
          std::pair("GPT, negative preference optimisation", Way::kPreference)})
      add(name,
          part(name, share,
               [&, way = way] {
                 return unlearn(tofu_, settings_, *full(), way, share, context_.seed());
               }),
          retrained);
    // One store after the other, each asked alone and beside the Mosaic.
    const std::string names[] = {"store", "Mosaic beside a store"};
    std::vector<Measures> never;
    for (size_t k = 0; k < std::size(names); ++k)
      never.push_back(
          part(names[k] + ", never held", share, [&] { return ask_store(share, false, k == 0); }));
    for (size_t k = 0; k < std::size(names); ++k) {
      add(names[k], part(names[k], share, [&] { return ask_store(share, true, k == 0); }),
          never[k]);
      outcomes.back().recall = recall(share);
    }
    return outcomes;
  }
  const StorePlan& plan() {
    if (!plan_) {
      const auto numbers = context_.part("store, planned", 3, [&]() -> std::vector<double> {
        const auto [memory, error] = planned_store(tofu_, settings_.error, context_.seed());
        return {static_cast<double>(memory.shards), static_cast<double>(memory.dimension), error};
      });
      plan_ = StorePlan{
          {.dimension = std::llround(numbers[1]), .shards = static_cast<int32_t>(numbers[0])},
          numbers[2]};
    }
    return *plan_;
  }

 private:
  static constexpr int64_t kParts = 9;  // of each share

  template <typename Compute>
  Measures part(const std::string& name, double share, const Compute& compute) {
    const std::string whole = fmt::format("{}, {:.12g} %", name, 100 * share);
    const auto numbers = context_.part(whole, Measures::kMeans + tofu_.forgotten_questions(share),
                                       [&] { return compute().numbers(); });
    progress_.advance(whole);
    return Measures::of_numbers(numbers);
  }
  std::shared_ptr<LanguageModel> full() {
    if (!full_) full_ = tofu_.taught("gpt", tofu_.authors().size());
    return full_;
  }
  /// Has learned how questions are answered, from other authors.
  std::shared_ptr<LanguageModel> mosaic() {
    if (mosaic_) return mosaic_;
    mosaic_ = Tofu(settings_, context_.seed() + 1, tofu_.tokenizer())
                  .taught("memory_mosaic", tofu_.authors().size());
    return mosaic_;
  }
  Measures retrain(double share) {
    std::shared_ptr<LanguageModel> model;
    const double seconds = seconds_of([&] { model = tofu_.taught("gpt", tofu_.retained(share)); });
    return tofu_.measure(network_subject(model), share, seconds);
  }
  /// The store without those who are forgotten. held: whether it held them.
  const AuthorStore& authors(double share, bool held) {
    const size_t kept = tofu_.retained(share);
    if (!store_ || !store_->is(kept, held))
      store_.emplace(context_.folder() / "store").fill(tofu_, plan().memory, kept, held);
    return *store_;
  }
  /// alone: the store, or it beside the Mosaic.
  Measures ask_store(double share, bool held, bool alone) {
    const AuthorStore& store = authors(share, held);
    if (alone) {
      const store::MemoStore opened(store.folder());
      return tofu_.measure(store_subject(opened), share, store.seconds());
    }
    const store::StoreTokenMemory memory(store.folder(), "", tofu_.tokenizer());
    return tofu_.measure(beside_memory(mosaic(), memory), share, store.seconds());
  }
  double recall(double share) {
    constexpr int64_t kPositions = 4000;
    return context_.number(fmt::format("recall of the store, {:.12g} %", 100 * share), [&] {
      const store::MemoStore opened(authors(share, true).folder());
      return store::measure_recall(opened, kPositions, context_.seed()).share_right();
    });
  }

  StudyContext& context_;
  const UnlearningSettings& settings_;
  Tofu tofu_;
  Progress progress_;
  std::shared_ptr<LanguageModel> full_, mosaic_;
  std::optional<StorePlan> plan_;
  std::optional<AuthorStore> store_;
};

void tabulate(StudyContext& context, const std::vector<Outcome>& all) {
  Table table(
      "What is left of authors that are to be forgotten. Verbatim: how much of an answer is said "
      "as it was learned (ROUGE-L). Exact memorization: share of its tokens that are predicted. "
      "Extraction strength: share of it that is predicted once its beginning is given. Utility: "
      "how well what stays is answered. Recall of the store: share of its tokens that it tells "
      "from the tokens before them",
      {"subject", "forgotten (%)", "forget quality (p)", "utility", "verbatim",
       "exact memorization", "extraction strength", "seconds to forget", "recall of the store"});
  for (const auto& [name, share, measures, quality, recall] : all) {
    table.add_row({name, Cell::fixed(100 * share, 0), Cell::fixed(quality, 4),
                   Cell::fixed(measures.utility, 3), Cell::fixed(measures.verbatim, 3),
                   Cell::fixed(measures.exact, 3), Cell::fixed(measures.extraction, 3),
                   Cell::fixed(measures.seconds, 1), fixed_or_empty(recall, 3)});
    context.results().add_point({name, 100 * share, quality});
  }
  context.results().add_table("unlearning", std::move(table));
  context.results().add_chart(
      "forget-quality",
      context.results().chart_of_points("Forget quality", {"authors forgotten (%)"},
                                        {"p of the Kolmogorov-Smirnov test"}),
      "How probable it is that the truth ratios of forgotten questions come from a model, or a "
      "store, that never learned them: 1, they cannot be told apart. A store that forgets has the "
      "bits of one that never held the document, so that it is 1 by construction.");
}

void check_unlearning(const UnlearningSettings& settings) {
  memo::check_config({.vocabulary = settings.vocabulary});
  check_list("shares", settings.shares);
  for (const double share : settings.shares) {
    if (retained_of(settings.authors, share) == 0)
      throw UsageError(
          "shares has {}, which is all of {} authors; expected a share that leaves at least one",
          share, settings.authors);
  }
}

}  // namespace

void unlearning(StudyContext& context) {
  UnlearningSettings quick;
  quick.authors = 10;
  quick.shares = {0.2};
  quick.vocabulary = 400;
  quick.error = 0.2;
  quick.network = {.channels = 32, .epochs = 2};
  quick.unlearning_epochs = 1;
  quick.probes = 8;
  const auto settings = context.settings(quick, UnlearningSettings(), kNoSetting);
  check_unlearning(settings);
  Unlearning unlearning(context, settings);
  const StorePlan& plan = unlearning.plan();
  std::vector<Outcome> all;
  for (const double share : settings.shares)
    for (Outcome& outcome : unlearning.outcomes_of(share)) all.push_back(std::move(outcome));
  tabulate(context, all);
  context.results().add_difference(
      fmt::format("Ways to unlearn: {} passes at a rate of {:g}, tuned for none of them.",
                  settings.unlearning_epochs, settings.unlearning_rate));
  context.results().add_difference(
      "After TOFU (Maini et al. 2024), whose authors GPT-4 wrote and whose models have billions of "
      "parameters: these authors are drawn from lists, with ten facts each that are asked in two "
      "ways, of which one is drawn for the measures, and the networks are small and learn nothing "
      "else. The tokens are learned from all authors' lines, also the forgotten ones'.");
  context.results().add_difference(fmt::format(
      "One seed. The store is planned for an error of {:g}, as 'tessera memo create --plan-from' "
      "does: {} of dimension {}, with a predicted error of {:.3f}.",
      settings.error,
      plan.memory.shards == 1 ? "a matrix" : fmt::format("{} matrices", plan.memory.shards),
      plan.memory.dimension, plan.error));
  context.results().add_difference(
      "A store knows the words that it holds and not their paraphrases: where its truth ratios are "
      "near 1 also for authors that it keeps, one of the three parts of its utility, "
      "max(0, 1 - truth ratio), is near 0, and their harmonic mean is at most three times that.");
}

}  // namespace tessera::memo_study
