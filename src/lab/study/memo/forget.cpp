// Exact forgetting: how the memory answers to contexts it kept, forgot and never saw.

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "lab/study/memo/studies.h"
#include "tessera/base/progress.h"
#include "tessera/base/random.h"
#include "tessera/base/statistics.h"
#include "tessera/memo/likelihood_decoder.h"
#include "tessera/memo/text_reader.h"

namespace tessera::memo_study {
namespace {

struct ForgetSettings {
  CorpusConfig data = {};
  int64_t dimension = 1024;
  int64_t document_tokens = 8000;
  int64_t probes = 2000;
  double error_rate = 0.01;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("data", data, "which text, cut into which tokens");
    field("dimension", dimension, "dimension d of the memory");
    field("document_tokens", document_tokens,
          "tokens of each document: two that are kept, one forgotten, one never seen",
          config::at_least(kLongestWindow + 1));
    field("probes", probes, "contexts of each kind", config::at_least(1));
    field("error_rate", error_rate,
          "how often a text that was never stored may pass for a stored one");
  }
};

/// The four documents, one after the other in the text.
enum Document { kFirst, kForgotten, kSecond, kNeverSeen };

/// Where in a document to ask: at all places, or where not even the shortest window before them is
/// stored now.
enum class Places { kAll, kUnknown };

/// Contexts of one kind. In the order of the table.
struct Question {
  const char* name;
  Document document;
  Places where;
};
constexpr std::array<Question, 5> kQuestions = {
    {{"kept", kFirst, Places::kAll},
     {"forgotten", kForgotten, Places::kAll},
     {"never seen", kNeverSeen, Places::kAll},
     {"forgotten, unknown", kForgotten, Places::kUnknown},
     {"never seen, unknown", kNeverSeen, Places::kUnknown}}};
enum Asked { kKept, kForgottenAll, kNeverSeenAll, kForgottenUnknown, kNeverSeenUnknown };

/// What contexts of one kind were answered with.
struct Answers {
  std::string name;
  std::vector<double> scores;  // the best token's, ascending
  double right = 0, above_threshold = 0, recalled = 0;

  /// As the numbers of a part of the study.
  std::vector<double> numbers() const {
    std::vector<double> all = {right, above_threshold, recalled};
    all.insert(all.end(), scores.begin(), scores.end());
    return all;
  }
  static constexpr size_t kShares = 3;  // of the numbers, before the scores
  static Answers of_numbers(const std::string& name, const std::vector<double>& numbers) {
    Answers answers{name, {}, numbers[0], numbers[1], numbers[2]};
    answers.scores.assign(numbers.begin() + kShares, numbers.end());
    return answers;
  }
  double share(double count) const { return count / static_cast<double>(scores.size()); }
  double quantile(double share) const {
    return scores[static_cast<size_t>(share * static_cast<double>(scores.size() - 1))];
  }
};

/// What is known of the memory without asking it.
struct MemoryFacts {
  bool as_never_seen = false;
  double noise = 0;  // on the score of one window
  int64_t vocabulary = 0;

  /// The largest of V normal numbers, about.
  double deviations() const { return std::sqrt(2 * std::log(static_cast<double>(vocabulary))); }
  /// The largest sum of scores that V tokens reach by noise alone, about: by_score's threshold.
  double threshold() const { return noise * std::sqrt(kTextLayers) * deviations(); }
  /// How often the noise on V tokens passes it.
  double expected_above_threshold() const {
    return 1 - std::exp(static_cast<double>(vocabulary) * std::log1p(-normal_cdf(-deviations())));
  }
};

/// Two documents kept and one forgotten. The memory is made when it is first needed: a study that
/// goes on may have all its answers.
class Forgetting {
 public:
  Forgetting(const ForgetSettings& settings, const StudyText& text, uint64_t seed)
      : settings_(settings), text_(text), seed_(seed) {
    for (const Document document : {kFirst, kSecond}) remember_windows(tokens_of(document));
  }

  const memo::TextMemory& memory() {
    if (!memory_) {
      memory_ = empty();
      for (const Document document : {kFirst, kForgotten, kSecond})
        memory_->memorize(memo::one_piece(tokens_of(document)));
      memory_->forget(memo::one_piece(tokens_of(kForgotten)));
    }
    return *memory_;
  }

  /// Whether the memory is, bit for bit, one that never saw the forgotten document, and stored the
  /// others in the other order.
  bool is_as_never_seen() {
    memo::TextMemory other = empty();
    for (const Document document : {kSecond, kFirst})
      other.memorize(memo::one_piece(tokens_of(document)));
    return other.pairs() == memory().pairs() &&
           other.shards()[0].matrix().bytes() == memory().shards()[0].matrix().bytes();
  }

  /// Where to ask.
  std::vector<int64_t> places_of(const Question& question) const {
    const auto tokens = tokens_of(question.document);
    auto places = random_places(kLongestWindow, std::ssize(tokens), settings_.probes,
                                run_seed(seed_, question.document));
    if (question.where == Places::kUnknown)
      std::erase_if(places,
                    [&](int64_t place) { return windows_.contains(window_at(tokens, place)); });
    return places;
  }

  Answers ask(const Question& question, std::span<const int64_t> places) {
    const auto tokens = tokens_of(question.document);
    Answers answers;
    answers.name = question.name;
    const double noise = memory().noise();
    const memo::LikelihoodDecoder decoder(std::vector<double>(text_.vocabulary, 1.0), noise,
                                          settings_.error_rate);
    memo::read_contexts(memory(), contexts_before(tokens, places),
                        [&](size_t i, const memo::WindowScores& scores) {
                          const memo::NextToken best = memo::by_score(scores, noise);
                          answers.scores.push_back(best.score);
                          answers.right += best.token == tokens[places[i]];
                          answers.above_threshold += best.recalled;
                          answers.recalled += decoder.best(scores).recalled;
                        });
    std::sort(answers.scores.begin(), answers.scores.end());
    return answers;
  }

 private:
  memo::TextMemory empty() const {
    return memo::TextMemory({.dimension = settings_.dimension,
                             .heads = kTextHeads,
                             .layers = kTextLayers,
                             .vocabulary = text_.vocabulary,
                             .seed = seed_});
  }
  std::span<const int32_t> tokens_of(Document document) const {
    const size_t length = settings_.document_tokens;
    return std::span(text_.tokens).subspan(document * length, length);
  }
  /// The shortest window before a place.
  static std::string window_at(std::span<const int32_t> tokens, int64_t place) {
    const auto window = std::as_bytes(tokens.subspan(place - kTextHeads, kTextHeads));
    return {reinterpret_cast<const char*>(window.data()), window.size()};
  }
  void remember_windows(std::span<const int32_t> tokens) {
    for (int64_t place = kTextHeads; place < std::ssize(tokens); ++place)
      windows_.insert(window_at(tokens, place));
  }

  const ForgetSettings& settings_;
  const StudyText& text_;
  uint64_t seed_;
  std::optional<memo::TextMemory> memory_;
  std::unordered_set<std::string> windows_;  // shortest ones held now
};

/// The memory's facts and all answers, each as a part of the study.
struct Findings {
  MemoryFacts facts;
  std::vector<Answers> answers;  // of kQuestions
};

Findings findings_of(StudyContext& context, const ForgetSettings& settings, const StudyText& text) {
  Progress progress(context.progress(), "Forgetting", 1 + std::ssize(kQuestions));
  Forgetting forgetting(settings, text, context.seed());
  const auto memory = context.part("memory", 2, [&]() -> std::vector<double> {
    return {forgetting.is_as_never_seen() ? 1.0 : 0.0, forgetting.memory().noise()};
  });
  Findings found{{memory[0] == 1, memory[1], text.vocabulary}, {}};
  progress.advance(found.facts.as_never_seen ? "the memory is bit for bit as if never seen"
                                             : "the memory differs");
  for (const Question& question : kQuestions) {
    const auto places = forgetting.places_of(question);
    const auto numbers = context.part(question.name, Answers::kShares + places.size(),
                                      [&] { return forgetting.ask(question, places).numbers(); });
    found.answers.push_back(Answers::of_numbers(question.name, numbers));
    progress.advance(question.name);
  }
  return found;
}

void tabulate(StudyContext& context, const std::vector<Answers>& all, double error_rate) {
  Table table("The best score over all tokens (unknown: no window of the context is stored)",
              {"contexts", "asked", "mean", "5 %", "95 %", "right", "above the threshold",
               fmt::format("recalled at an error rate of {:g}", error_rate)});
  for (const Answers& answers : all) {
    if (answers.scores.empty()) continue;
    double sum = 0;
    for (const double score : answers.scores) sum += score;
    table.add_row({answers.name, answers.scores.size(),
                   Cell::fixed(sum / static_cast<double>(answers.scores.size()), 3),
                   Cell::fixed(answers.quantile(0.05), 3), Cell::fixed(answers.quantile(0.95), 3),
                   Cell::fixed(answers.share(answers.right), 4),
                   Cell::fixed(answers.share(answers.above_threshold), 4),
                   Cell::fixed(answers.share(answers.recalled), 4)});
  }
  context.results().add_table("scores", std::move(table));
}

void tabulate_checks(StudyContext& context, const Findings& found) {
  const MemoryFacts& facts = found.facts;
  Table checks("What forgetting leaves", {"check", "found"});
  checks.add_row({"matrix equal, bit for bit, to one that never saw the document",
                  facts.as_never_seen ? "yes" : "no"});
  checks.add_row({"noise on the score of one window, predicted", Cell::fixed(facts.noise, 4)});
  checks.add_row({"threshold: noise · √(2 l ln V)", Cell::fixed(facts.threshold(), 3)});
  checks.add_row({"share of contexts without a window stored expected above it",
                  Cell::fixed(facts.expected_above_threshold(), 4)});
  checks.add_row({"forgotten and never seen: largest difference of the distributions",
                  Cell::fixed(distance(found.answers[kForgottenUnknown].scores,
                                       found.answers[kNeverSeenUnknown].scores),
                              3)});
  context.results().add_table("checks", std::move(checks));
}

void draw(StudyContext& context, const std::vector<Answers>& all, double threshold) {
  constexpr double kBin = 0.1;
  constexpr int kBins = 45;
  double highest = 0;
  for (const Answers& answers : all) {
    std::array<double, kBins> bins{};
    for (const double score : answers.scores)
      bins[std::clamp(static_cast<int>(score / kBin), 0, kBins - 1)] +=
          1 / static_cast<double>(answers.scores.size());
    for (int bin = 0; bin < kBins; ++bin) {
      context.results().add_point({answers.name, (bin + 0.5) * kBin, bins[bin]});
      highest = std::max(highest, bins[bin]);
    }
  }
  auto chart =
      context.results().chart_of_points("Best score of contexts kept, forgotten and never seen",
                                        {"best score over all tokens"}, {"share of contexts"});
  chart->add({"threshold", {{threshold, 0}, {threshold, highest}}, SeriesStyle::kReference});
  context.results().add_chart(
      "scores-histogram", std::move(chart),
      "Forgetting subtracts what memorizing added to C (section 3.2): contexts of a forgotten "
      "document are answered like those of one never seen. Shares in steps of 0.1. Unknown: not "
      "even the last four tokens occur in a document kept. Threshold: the largest score that noise "
      "alone is expected to reach.");
}

}  // namespace

void forget(StudyContext& context) {
  const ForgetSettings quick{.dimension = 512, .document_tokens = 1500, .probes = 300};
  const ForgetSettings settings = context.settings(quick, ForgetSettings(), kNoSetting);
  check_text_memory(settings.dimension, settings.error_rate);
  const StudyText text = beginning_of(settings.data, 4 * settings.document_tokens, context);
  const Findings found = findings_of(context, settings, text);
  tabulate(context, found.answers, settings.error_rate);
  tabulate_checks(context, found);
  draw(context,
       {found.answers[kKept], found.answers[kForgottenUnknown], found.answers[kNeverSeenUnknown]},
       found.facts.threshold());
  context.results().add_difference(
      "The paper forgets by subtracting float products, up to rounding, and shows no experiment of "
      "it. Text: the beginning of " +
      text.description + ".");
}

}  // namespace tessera::memo_study
