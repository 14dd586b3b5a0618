// tessera memo recall | complete

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tessera/base/interrupt.h"
#include "tessera/cli/memo_verbs.h"
#include "tessera/cli/program.h"
#include "tessera/infer/sampling.h"
#include "tessera/report/table.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/recall.h"

namespace tessera::cli {
namespace {

using config::Json;

/// Prints a text token by token behind its prompt, and how fast it came.
class Writing {
 public:
  Writing(const MemoStore& store, const std::string& prompt, bool visible)
      : tokenizer_(store.tokenizer()),
        longest_(window_lengths(store.config().memory).back()),
        visible_(visible),
        started_(std::chrono::steady_clock::now()) {
    if (visible_) fmt::print("{}", prompt);
  }

  void add(int32_t token) {
    ++tokens_;
    text_ += tokenizer_.token_bytes(token);
    if (!visible_) return;
    fmt::print("{}", tokenizer_.token_bytes(token));
    std::fflush(stdout);
  }

  void end(RecallEnd end) const {
    using Seconds = std::chrono::duration<double>;
    const double seconds = Seconds(std::chrono::steady_clock::now() - started_).count();
    if (visible_) fmt::print("\n");
    std::fflush(stdout);  // what follows goes another way
    std::string why;
    if (end == RecallEnd::kEndOfDocument) why = "; the document ends here";
    if (end == RecallEnd::kNotStored) why = "; nothing stored goes on from here";
    if (end == RecallEnd::kNotStored && tokens_ == 0)
      why += fmt::format(
          " beyond doubt; the surest prompts have {} tokens or more, and recall --error-rate 0.1 "
          "doubts less",
          longest_);
    fmt::print(stderr, "{} tokens, {:.1f} tokens/s{}\n", tokens_,
               static_cast<double>(tokens_) / seconds, why);
  }

  const std::string& text() const { return text_; }

 private:
  const Tokenizer& tokenizer_;
  int64_t longest_;  // window
  bool visible_;
  std::chrono::steady_clock::time_point started_;
  int64_t tokens_ = 0;
  std::string text_;
};

struct RecallCommand {
  std::string store, prompt;
  RecallOptions recall;
  bool json = false;
};

Json json_of(const RecallCommand& command, const MemoStore& store, const Recall& recall,
             const std::string& text) {
  Json json = {{"prompt", command.prompt},
               {"text", text},
               {"end", config::enum_name(recall.end)},
               {"window_lengths", window_lengths(store.config().memory)},
               {"tokens", Json::array()}};
  for (size_t i = 0; i < recall.tokens.size(); ++i) {
    const NextToken& token = recall.tokens[i];
    Json sources = Json::array();
    for (const Source& source : recall.sources[i].best)
      sources.push_back({{"document", source.document},
                         {"position", source.position},
                         {"matched_length", source.matched_length}});
    json["tokens"].push_back({{"id", token.token},
                              {"text", store.tokenizer().token_bytes(token.token)},
                              {"matched_length", token.matched_length},
                              {"score", token.score},
                              {"probability", token.probability},
                              {"recalled", token.recalled},
                              {"window_scores", token.window_scores},
                              {"sources", sources},
                              {"places", recall.sources[i].places}});
  }
  return json;
}

/// Tokens in a row that stand so in one document.
struct Passage {
  size_t first, last;
};

std::vector<Passage> passages_of(const std::vector<TokenSources>& sources) {
  const auto goes_on = [&](size_t i) {
    const auto &before = sources[i - 1].best, &here = sources[i].best;
    if (before.empty() || here.empty()) return before.empty() && here.empty();
    return here[0].document == before[0].document && here[0].position == before[0].position + 1;
  };
  std::vector<Passage> passages;
  for (size_t i = 0; i < sources.size(); ++i)
    if (i > 0 && goes_on(i))
      passages.back().last = i;
    else
      passages.push_back({i, i});
  return passages;
}

/// Documents that say the same as far as the text goes.
std::string also_in(const std::vector<Source>& best) {
  std::string names;
  for (size_t i = 1; i < best.size(); ++i)
    if (best[i].matched_length == best[0].matched_length && best[i].document != best[0].document)
      names += (names.empty() ? "" : ", ") + best[i].document;
  return names;
}

void print_sources(const Recall& recall) {
  Table table("", {"tokens", "document", "position", "matched", "probability", "also in"});
  for (const auto [first, last] : passages_of(recall.sources)) {
    double least = 1;
    int64_t matched = INT64_MAX;
    for (size_t i = first; i <= last; ++i) {
      least = std::min(least, recall.tokens[i].probability);
      matched = std::min(matched, recall.tokens[i].matched_length);
    }
    const auto& best = recall.sources[first].best;
    table.add_row({fmt::format("{}-{}", first + 1, last + 1),
                   best.empty() ? "none" : best[0].document,
                   best.empty() ? Cell() : Cell(best[0].position), Cell(matched),
                   Cell::fixed(least, 4), also_in(recall.sources[last].best)});
  }
  fmt::print("\n{}", table.text());
}

void run_recall(const RecallCommand& command) {
  const MemoStore store(command.store);
  if (store.config().memory.code == WindowCodeKind::kPaper &&
      command.recall.error_rate != kErrorRate)
    throw UsageError("--error-rate goes with stores of the bound code; this one has the paper's");
  const auto prompt = store.tokenizer().encode(command.prompt);
  check_prompt(store, prompt);
  store.memory();  // read before the clock starts
  Writing writing(store, command.prompt, !command.json);
  const Recall result = recall(store, prompt, command.recall,
                               [&](const NextToken& token) { writing.add(token.token); });
  writing.end(result.end);
  if (command.json)
    print_json(json_of(command, store, result, writing.text()));
  else if (!result.tokens.empty())
    print_sources(result);
}

struct CompleteCommand {
  std::string store, prompt;
  int64_t tokens = 50;
  SamplingOptions sampling;
  bool json = false;
};

/// One token drawn from what the memory holds possible.
int32_t draw(StoreReader& reader, std::span<const int64_t> context,
             const SamplingOptions& sampling) {
  std::vector<float> logits;
  for (const double probability : reader.probabilities())
    logits.push_back(static_cast<float>(std::log(probability)));
  return static_cast<int32_t>(draw_token(logits, context, sampling, 0).token);
}

void run_complete(const CompleteCommand& command) {
  const MemoStore store(command.store);
  const auto prompt = store.tokenizer().encode(command.prompt);
  check_prompt(store, prompt);
  command.sampling.check();
  StoreReader reader(store);
  reader.append(prompt);
  std::vector<int64_t> context(prompt.begin(), prompt.end());
  RecallEnd end = RecallEnd::kEnoughTokens;
  Json tokens = Json::array();
  const InterruptGuard interrupt;
  Writing writing(store, command.prompt, !command.json);
  for (int64_t i = 0; i < command.tokens && !InterruptGuard::interrupted(); ++i) {
    if (!goes_on(reader.next(), i > 0)) {
      end = RecallEnd::kNotStored;
      break;
    }
    const int32_t token = draw(reader, context, command.sampling);
    if (token == store.tokenizer().end_of_text()) {
      end = RecallEnd::kEndOfDocument;
      break;
    }
    reader.append(token);
    context.push_back(token);
    tokens.push_back({{"id", token}, {"text", store.tokenizer().token_bytes(token)}});
    writing.add(token);
  }
  writing.end(end);
  if (command.json)
    print_json({{"prompt", command.prompt},
                {"text", writing.text()},
                {"end", config::enum_name(end)},
                {"tokens", tokens}});
  if (InterruptGuard::interrupted()) throw Interrupted("interrupted");
}

}  // namespace

void add_memo_recall(CLI::App& memo) {
  auto command = std::make_shared<RecallCommand>();
  CLI::App* verb =
      memo.add_subcommand("recall", "Recite what is stored after a text, and say where from");
  add_store(*verb, command->store);
  verb->add_option("--prompt", command->prompt, "Text to go on from")->required();
  verb->add_option("--tokens", command->recall.tokens, "Longest recall")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb->add_option("--error-rate", command->recall.error_rate,
                   "The most often that a text which was never stored may pass for a stored one; "
                   "the recall ends where less than that speaks for one")
      ->check(CLI::Range(1e-300, 0.999999))
      ->capture_default_str();
  verb->add_option("--sources", command->recall.sources,
                   "Places to look up for each token, best first")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb->add_flag("--json", command->json, "Print all of every token as one JSON object");
  verb->callback([command] { run_recall(*command); });
}

void add_memo_complete(CLI::App& memo) {
  auto command = std::make_shared<CompleteCommand>();
  CLI::App* verb = memo.add_subcommand(
      "complete", "Go on from a text with tokens drawn from what is stored after such windows");
  add_store(*verb, command->store);
  verb->add_option("--prompt", command->prompt, "Text to go on from")->required();
  verb->add_option("--tokens", command->tokens, "Longest continuation")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb->add_option("--temperature", command->sampling.temperature,
                   "Divides the log-probabilities; 0 takes the most probable token")
      ->capture_default_str();
  verb->add_option("--top-k", command->sampling.top_k, "Draw from the k most probable (0: all)")
      ->capture_default_str();
  verb->add_option("--top-p", command->sampling.top_p,
                   "Draw from the fewest tokens that together have this probability")
      ->capture_default_str();
  verb->add_option("--seed", command->sampling.seed, "Same seed, same text")->capture_default_str();
  verb->add_flag("--json", command->json, "Print one JSON object");
  verb->callback([command] { run_complete(*command); });
}

}  // namespace tessera::cli
