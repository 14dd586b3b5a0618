#include "python/networks/model_calls.h"

#include <ATen/core/Tensor.h>

#include <utility>

#include "tessera/infer/inspection.h"
#include "tessera/infer/scoring.h"
#include "tessera/model/language_model.h"

namespace tessera::python {
namespace {

using config::Json;
using jobs::OnProgress;

constexpr int64_t kTokensAtOnce = 4096;  // read between two signs of progress

Json json_of(const ScoredToken& token, const ModelFolder& folder) {
  Json json = {{"id", token.token}, {"text", folder.text_of({token.token})}};
  if (token.log_probability) json["log_probability"] = *token.log_probability;
  return json;
}

Json json_of(const std::vector<ScoredToken>& tokens, const ModelFolder& folder) {
  Json list = Json::array();
  for (const ScoredToken& token : tokens) list.push_back(json_of(token, folder));
  return list;
}

struct Generate : Writing {
  static constexpr std::string_view kName = "generate";
  static constexpr std::string_view kHelp = "Continue a text";

  Json run(OpenModel& model, const OnProgress& on_progress) const {
    WrittenText text = begin(model);
    std::string written;
    std::vector<ScoredToken> tokens;
    Finish finish = Finish::kMaxTokens;
    while (auto news = text.next()) {
      written += news->text;
      tokens.push_back(std::move(*news->token));
      finish = news->finish.value_or(finish);
      on_progress(std::ssize(tokens), max_tokens);
    }
    return {{"prompt", prompt},
            {"text", written},
            {"finish", config::enum_name(finish)},
            {"tokens", json_of(tokens, model.folder)}};
  }
};

/// What a model thinks of texts: the log-probability of every token but the first of each.
struct Score {
  static constexpr std::string_view kName = "score";
  static constexpr std::string_view kHelp =
      "The log-probability (nats) of each text and of its tokens, of which the first has none";

  std::vector<std::string> texts;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("texts", texts, "the texts", config::required());
  }

  Json run(OpenModel& model, const OnProgress& on_progress) const {
    std::vector<Tokens> encoded;
    int64_t total = 0;
    for (const std::string& text : texts)
      total += std::ssize(encoded.emplace_back(model.encode(text)));
    const Turn turn(model.turns);
    TextScorer scorer(*model.folder.model, encoded, {});
    for (int64_t done = 0; !scorer.advance(kTokensAtOnce);
         on_progress(std::min(done, total), total))
      done += kTokensAtOnce;
    Json list = Json::array();
    for (const auto& tokens : std::move(scorer).scores()) {
      double sum = 0;
      for (const ScoredToken& token : tokens) sum += token.log_probability.value_or(0);
      list.push_back({{"log_probability", sum}, {"tokens", json_of(tokens, model.folder)}});
    }
    return {{"object", "list"}, {"data", std::move(list)}};
  }
};

/// log p(continuation | context), where the tokens of the continuation are those that context and
/// continuation have together beyond those of the context.
struct LogLikelihood {
  static constexpr std::string_view kName = "loglikelihood";
  static constexpr std::string_view kHelp =
      "The log-probability (nats) of a continuation, and whether it is the most probable one";

  std::string context, continuation;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("context", context, "the text before it; an end of text stands for an empty one",
          config::required());
    field("continuation", continuation, "the text that is scored", config::required());
  }

  Json run(OpenModel& model, const OnProgress&) const {
    const Tokens before = model.encode_prompt(context),
                 whole = model.encode(context + continuation);
    const auto shared =
        std::min<int64_t>(context.empty() ? 0 : std::ssize(before), std::ssize(whole));
    const Turn turn(model.turns);
    const auto scores =
        score_continuations(*model.folder.model, {{before, {whole.begin() + shared, whole.end()}}});
    return {{"log_probability", scores.front().log_probability},
            {"greedy", scores.front().greedy},
            {"tokens", json_of(scores.front().tokens, model.folder)}};
  }
};

struct Inspect {
  static constexpr std::string_view kName = "inspect";
  static constexpr std::string_view kHelp =
      "Which stored pairs of a text spoke for the next token, and how loudly";

  std::string text;
  std::optional<int64_t> position, token;
  InspectionOptions options;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("text", text, "the text that the model reads", config::required());
    field("position", position,
          "explain the prediction of the token after this one, counted from 0 (the text's last)",
          config::at_least(0));
    field("token", token,
          "id of the token whose logit is explained (the text's next or, at its end, the most "
          "probable)",
          config::at_least(0));
    options.visit_fields(field);
  }

  Json run(OpenModel& model, const OnProgress&) const {
    const Tokens tokens = model.encode(text);
    check_argument(!tokens.empty(), "the text is empty; there is nothing to inspect");
    const Turn turn(model.turns);
    InspectionOptions chosen = options;
    chosen.token = token;
    const Inspection inspection =
        inspect(*model.folder.model, tokens, position.value_or(std::ssize(tokens) - 1), chosen);
    Json json = {{"tokens", tessera::json_of(tokens, model.folder.tokenizer)}};
    json.update(tessera::json_of(inspection, model.folder.tokenizer));
    return json;
  }
};

template <typename Job>
Json work(OpenModel& model, const Json& request, const OnProgress& on_progress) {
  return read_job<Job>(request).run(model, on_progress);
}

template <typename... Jobs>
std::vector<Call<OpenModel>> calls_of() {
  return {call_of<Jobs, OpenModel>(work<Jobs>)...};
}

}  // namespace

WrittenText Writing::begin(OpenModel& model) const {
  WritingOptions options{.max_tokens = max_tokens, .sampling = sampling, .stop = stop};
  options.token_bytes = model.folder.token_bytes();
  if (!ignore_end) options.end_of_text = model.folder.tokenizer.end_of_text();
  return WrittenText(model, prompt, std::move(options));
}

const std::vector<Call<OpenModel>>& model_calls() {
  static const auto calls = calls_of<Generate, Score, LogLikelihood, Inspect>();
  return calls;
}

}  // namespace tessera::python
