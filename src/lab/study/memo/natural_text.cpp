// Recall of natural text: the paper's code beside the bound code, and a plan held against it.

#include <ATen/ATen.h>

#include <algorithm>

#include "lab/study/memo/studies.h"
#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/base/random.h"
#include "tessera/memo/bound_window_predictor.h"
#include "tessera/memo/likelihood_decoder.h"
#include "tessera/memo/recital.h"
#include "tessera/memo/text_reader.h"
#include "tessera/model/memo.h"

namespace tessera::memo_study {
namespace {

constexpr int64_t kRecited = 100;  // tokens of a recital at most

struct NaturalTextSettings {
  CorpusConfig data = {};
  int64_t dimension = 1024;
  std::vector<int64_t> tokens = {2000, 8000, 24000, 40000};
  int64_t probes = 2000;
  int64_t planned_tokens = 150000;
  double planned_error = 0.01;
  int64_t recitals = 100;
  double error_rate = 0.01;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("data", data, "which text, cut into which tokens");
    field("dimension", dimension, "dimension d of the memory");
    field("tokens", tokens, "lengths of the texts stored, each as one document",
          config::at_least(kLongestWindow + 1));
    field("probes", probes, "places of a stored text at which the next token is asked for",
          config::at_least(1));
    field("planned_tokens", planned_tokens, "length of a text whose memory is planned; 0: none");
    field("planned_error", planned_error, "error that the plan allows", config::inner_share());
    field("recitals", recitals, "places at which the planned memory is to recite",
          config::at_least(1));
    field("error_rate", error_rate,
          "how often a text that was never stored may pass for a stored one");
  }
};

/// Shares of the places whose token is answered.
struct Recall {
  double by_score = 0, by_likelihood = 0;
};

Recall recall_of(const memo::TextMemory& memory, std::span<const int32_t> text,
                 std::span<const int64_t> places, double error_rate) {
  const double noise = memory.noise(), share = 1 / static_cast<double>(places.size());
  const memo::LikelihoodDecoder decoder(counts_of(text, memory.config().vocabulary), noise,
                                        error_rate);
  Recall recall;
  memo::read_contexts(memory, contexts_before(text, places),
                      [&](size_t i, const memo::WindowScores& scores) {
                        const int32_t right = text[places[i]];
                        recall.by_score += share * (memo::by_score(scores, noise).token == right);
                        recall.by_likelihood += share * (decoder.best(scores).token == right);
                      });
  return recall;
}

/// The text in a memory of its own.
memo::TextMemory memory_of(memo::WindowCodeKind code, int64_t dimension,
                           std::span<const int32_t> text, int64_t vocabulary, uint64_t seed) {
  memo::TextMemory memory({.code = code,
                           .dimension = dimension,
                           .heads = kTextHeads,
                           .layers = kTextLayers,
                           .vocabulary = vocabulary,
                           .seed = seed});
  memory.memorize(memo::one_piece(text));
  return memory;
}

/// As the authors' code stores a text, but in one row: every window of every position, as often as
/// it comes.
double published_code_recall(int64_t dimension, std::span<const int32_t> text, int64_t vocabulary,
                             std::span<const int64_t> places, uint64_t seed) {
  Memo memo({.vocabulary = vocabulary,
             .dimension = dimension,
             .heads = kTextHeads,
             .layers = kTextLayers},
            seed);
  const at::Tensor tokens =
      at::tensor(at::ArrayRef<int32_t>(text.data(), text.size()), at::kInt).to(at::kLong);
  memo.memorize(tokens.unsqueeze(0));
  const at::Tensor next =
      at::tensor(at::ArrayRef<int64_t>(places.data(), places.size()), at::kLong);
  const at::Tensor windows = tokens.unfold(0, kLongestWindow, 1);  // [n - 63, 64]
  const at::Tensor contexts = windows.index_select(0, next - kLongestWindow);
  int64_t right = 0;
  for (int64_t begin = 0; begin < next.size(0); begin += 256) {
    const int64_t end = std::min(next.size(0), begin + 256);
    const at::Tensor answers = memo.retrieve(contexts.slice(0, begin, end)).argmax(1);
    right += (answers == tokens.index_select(0, next.slice(0, begin, end))).sum().item<int64_t>();
  }
  return static_cast<double>(right) / static_cast<double>(next.size(0));
}

memo::BoundWindowPredictor predictor_of(std::span<const int32_t> text, int64_t vocabulary,
                                        int64_t probes, uint64_t seed) {
  return memo::BoundWindowPredictor(
      {{text.begin(), text.end()}},
      {.heads = kTextHeads, .layers = kTextLayers, .vocabulary = vocabulary}, probes, seed);
}

const std::vector<std::string> kRecallSeries = {"authors' way", "paper's code, pairs once",
                                                "bound code, by score", "bound code",
                                                "bound code, predicted"};

/// Recall of the first `tokens` tokens by each of these.
std::vector<double> recalls_of(const NaturalTextSettings& settings, const StudyText& text,
                               int64_t tokens, uint64_t seed) {
  const auto stored = std::span(text.tokens).first(tokens);
  const auto places = random_places(kLongestWindow, tokens, settings.probes, seed);
  const auto recall = [&](memo::WindowCodeKind code) {
    return recall_of(memory_of(code, settings.dimension, stored, text.vocabulary, seed), stored,
                     places, settings.error_rate);
  };
  const Recall paper = recall(memo::WindowCodeKind::kPaper),
               bound = recall(memo::WindowCodeKind::kBound);
  const auto predictor = predictor_of(stored, text.vocabulary, settings.probes, seed);
  return {published_code_recall(settings.dimension, stored, text.vocabulary, places, seed),
          paper.by_score, bound.by_score, bound.by_likelihood,
          1 - predictor.error(settings.dimension).mean};
}

void measure_recall(StudyContext& context, const NaturalTextSettings& settings,
                    const StudyText& text) {
  std::vector<std::string> columns = kRecallSeries;
  columns.insert(columns.begin(), "tokens stored");
  Table table(fmt::format("Recall of stored text, d = {}, h = 4, l = 3", settings.dimension),
              columns);
  Progress progress(context.progress(), "Natural text", std::ssize(settings.tokens));
  for (const int64_t tokens : settings.tokens) {
    const std::string part = fmt::format("{} tokens", tokens);
    const auto recalls = context.part(part, kRecallSeries.size(), [&] {
      return recalls_of(settings, text, tokens, context.seed());
    });
    std::vector<Cell> row = {tokens};
    for (size_t k = 0; k < kRecallSeries.size(); ++k) {
      context.results().add_point(
          {.series = kRecallSeries[k], .x = static_cast<double>(tokens), .y = recalls[k]});
      row.push_back(Cell::fixed(recalls[k], 4));
    }
    table.add_row(std::move(row));
    progress.advance(part);
  }
  context.results().add_table("recall", std::move(table));
  context.results().add_chart(
      "natural-text",
      context.results().chart_of_points("Recall of natural text", {"tokens stored", Scale::kLog},
                                        {"recall", Scale::kLinear, 0, 1}),
      "Next tokens read back right (eq. 4) of a text stored as the authors' code stores it (after "
      "section 3.2: every window of 4, 16 and 64 tokens as a key that joins its tokens), the same "
      "with each pair of window and token once, and with a key of its own for each window (bound "
      "code): words that recur fill a memory of the paper's keys long before its capacity for "
      "random tokens.");
}

/// Tokens that a recital says right before its first error.
int64_t recited_ahead(const memo::TextMemory& memory, const memo::LikelihoodDecoder& decoder,
                      std::span<const int32_t> prompt, std::span<const int32_t> rest) {
  memo::Recital recital(memory, decoder, prompt, std::nullopt);
  for (size_t i = 0; i < rest.size(); ++i) {
    const auto next = recital.next();
    if (!next || next->token != rest[i]) return i;
  }
  return std::ssize(rest);
}

int64_t recited_token_by_token(const memo::TextMemory& memory,
                               const memo::LikelihoodDecoder& decoder,
                               std::span<const int32_t> prompt, std::span<const int32_t> rest) {
  memo::TextReader reader(memory);
  for (const int32_t token : prompt) reader.append(token);
  for (size_t i = 0; i < rest.size(); ++i) {
    if (decoder.best(reader.scores()).token != rest[i]) return i;
    reader.append(rest[i]);
  }
  return std::ssize(rest);
}

/// How far a memory recites its text from prompts of each window's length: the length, tokens by
/// the best each time, tokens looking ahead. Throws Interrupted.
std::vector<double> recitals_of(const NaturalTextSettings& settings, const memo::TextMemory& memory,
                                std::span<const int32_t> text, uint64_t seed) {
  const memo::LikelihoodDecoder decoder(counts_of(text, memory.config().vocabulary), memory.noise(),
                                        settings.error_rate);
  const auto places = random_places(kLongestWindow, std::ssize(text) - kRecited, settings.recitals,
                                    run_seed(seed, 2));
  std::vector<double> numbers;
  for (const int64_t length : memory.window_lengths()) {
    double each_time = 0, ahead = 0;
    for (const int64_t place : places) {
      InterruptGuard::stop_if_interrupted("stopped while reciting");
      const auto rest = text.subspan(place, kRecited);
      const auto prompt = text.subspan(place - length, length);
      each_time += static_cast<double>(recited_token_by_token(memory, decoder, prompt, rest));
      ahead += static_cast<double>(recited_ahead(memory, decoder, prompt, rest));
    }
    const double count = places.size();
    numbers.insert(numbers.end(), {static_cast<double>(length), each_time / count, ahead / count});
  }
  return numbers;
}

/// Names a dimension for a long text in advance, and holds the text against it: d, the predicted
/// error, the errors by likelihood and by score, the places asked at, then the recitals.
std::vector<double> planned_memory(const StudyContext& context, const NaturalTextSettings& settings,
                                   const StudyText& text) {
  Progress progress(context.progress(), "Planned memory", 4);
  const auto stored = std::span(text.tokens).first(settings.planned_tokens);
  const auto predictor = predictor_of(stored, text.vocabulary, settings.probes, context.seed());
  const int64_t dimension = predictor.smallest_dimension(settings.planned_error, 64);
  if (dimension == 0)
    throw UsageError("planned_error = {}: no dimension up to 10^6 reads {} tokens so well",
                     settings.planned_error, settings.planned_tokens);
  const double predicted = predictor.error(dimension).mean;
  progress.update(1, fmt::format("d = {}", dimension));
  const memo::TextMemory memory =
      memory_of(memo::WindowCodeKind::kBound, dimension, stored, text.vocabulary, context.seed());
  progress.update(2, fmt::format("{} pairs stored", memory.pairs()));
  // Errors are rare: five times the places, others than those of the plan.
  const auto places = random_places(kLongestWindow, settings.planned_tokens, 5 * settings.probes,
                                    run_seed(context.seed(), 1));
  const Recall recall = recall_of(memory, stored, places, settings.error_rate);
  progress.update(3, "recitals");
  std::vector<double> numbers = {static_cast<double>(dimension), predicted,
                                 1 - recall.by_likelihood, 1 - recall.by_score,
                                 static_cast<double>(places.size())};
  const auto recitals = recitals_of(settings, memory, stored, context.seed());
  numbers.insert(numbers.end(), recitals.begin(), recitals.end());
  progress.update(4);
  return numbers;
}

void hold_plan(StudyContext& context, const NaturalTextSettings& settings, const StudyText& text) {
  constexpr size_t kRecitals = 5;  // numbers before them
  const auto numbers = context.part("planned memory", kRecitals + 3 * kTextLayers,
                                    [&] { return planned_memory(context, settings, text); });
  Table plan("A memory planned in advance (bound code)",
             {"tokens", "error allowed", "d planned", "predicted error", "error", "error, by score",
              "places asked at"});
  plan.add_row({settings.planned_tokens, settings.planned_error, static_cast<int64_t>(numbers[0]),
                Cell::fixed(numbers[1], 4), Cell::fixed(numbers[2], 4), Cell::fixed(numbers[3], 4),
                static_cast<int64_t>(numbers[4])});
  context.results().add_table("plan", std::move(plan));
  Table recitals(fmt::format("Tokens recited before the first error, of {}", kRecited),
                 {"tokens of the prompt", "the best each time", "looking ahead", "recitals"});
  const int64_t places =
      std::min(settings.recitals, settings.planned_tokens - kRecited - kLongestWindow);
  for (size_t k = kRecitals; k < numbers.size(); k += 3)
    recitals.add_row({static_cast<int64_t>(numbers[k]), Cell::fixed(numbers[k + 1], 1),
                      Cell::fixed(numbers[k + 2], 1), places});
  context.results().add_table("recitals", std::move(recitals));
}

void check_natural_text(const NaturalTextSettings& settings) {
  check_text_memory(settings.dimension, settings.error_rate);
  check_list("tokens", settings.tokens);
  if (settings.planned_tokens != 0 && settings.planned_tokens <= kLongestWindow + kRecited)
    throw UsageError("planned_tokens is {}, expected 0 or more than {}", settings.planned_tokens,
                     kLongestWindow + kRecited);
}

}  // namespace

void natural_text(StudyContext& context) {
  const NaturalTextSettings quick{.dimension = 512,
                                  .tokens = {1000, 4000},
                                  .probes = 300,
                                  .planned_tokens = 6000,
                                  .recitals = 20};
  const NaturalTextSettings settings = context.settings(quick, NaturalTextSettings(), kNoSetting);
  check_natural_text(settings);
  const int64_t longest =
      std::max(settings.planned_tokens, *std::ranges::max_element(settings.tokens));
  const StudyText text = beginning_of(settings.data, longest, context);
  measure_recall(context, settings, text);
  if (settings.planned_tokens > 0) hold_plan(context, settings, text);
  context.results().add_difference(
      "The paper stores uniform random tokens only. Text: the beginning of " + text.description +
      ", as one document.");
}

}  // namespace tessera::memo_study
