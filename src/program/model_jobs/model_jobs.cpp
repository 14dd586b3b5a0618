#include "program/model_jobs/model_jobs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/infer/inspection.h"
#include "tessera/model/language_model.h"

namespace tessera::jobs {
namespace {

using config::Json;

constexpr int64_t kTokensAtOnce = 4096;  // read between two signs of progress
constexpr int64_t kMostPageTokens = 1024;
constexpr int64_t kPageMemories = 4;  // of each head, for each token of a page
constexpr size_t kSlotReaders = 10;

Json json_of(const std::vector<ScoredToken>& tokens, const ModelFolder& folder) {
  Json list = Json::array();
  for (const ScoredToken& token : tokens) list.push_back(jobs::json_of(token, folder));
  return list;
}

/// The one token that this text is.
int64_t only_token(const Tokenizer& tokenizer, const std::string& text) {
  const auto ids = tokenizer.encode(text, SpecialTokens::kRecognised);
  check_argument(ids.size() == 1,
                 "token '{}' is {} tokens, expected one; a word begins with its space", text,
                 ids.size());
  return ids.front();
}

}  // namespace

Json json_of(const ScoredToken& token, const ModelFolder& folder) {
  Json json = {{"id", token.token}, {"text", folder.text_of({token.token})}};
  if (token.log_probability) json["log_probability"] = *token.log_probability;
  for (const TokenChoice& choice : token.alternatives)
    json["alternatives"].push_back({{"id", choice.token},
                                    {"text", folder.text_of({choice.token})},
                                    {"log_probability", choice.log_probability}});
  return json;
}

Generate::Answer Generate::run(const ModelFolder& folder, const OnProgress& on_progress) const {
  int64_t written = 0;
  const auto generations = generate(*folder.model, {{folder.encode_prompt(prompt)}},
                                    folder.with_tokenizer(options), [&](const GeneratedToken&) {
                                      on_progress(++written, options.max_tokens);
                                      return true;
                                    });
  return {folder, prompt, generations.front()};
}

Json Generate::Answer::json() const {
  return {{"prompt", prompt},
          {"text", generation.text},
          {"finish", config::enum_name(generation.finish)},
          {"tokens", json_of(generation.tokens, folder)}};
}

Score::Answer Score::run(const ModelFolder& folder, const OnProgress& on_progress) const {
  std::vector<Tokens> encoded;
  int64_t total = 0;
  for (const std::string& text : texts)
    total += std::ssize(encoded.emplace_back(folder.encode(text)));
  TextScorer scorer(*folder.model, encoded, {});
  for (int64_t done = 0; !scorer.advance(kTokensAtOnce); on_progress(std::min(done, total), total))
    done += kTokensAtOnce;
  return {folder, std::move(scorer).scores()};
}

Json Score::Answer::json() const {
  Json list = Json::array();
  for (const auto& tokens : texts) {
    double sum = 0;
    for (const ScoredToken& token : tokens) sum += token.log_probability.value_or(0);
    list.push_back({{"log_probability", sum}, {"tokens", json_of(tokens, folder)}});
  }
  return {{"object", "list"}, {"data", std::move(list)}};
}

LogLikelihood::Answer LogLikelihood::run(const ModelFolder& folder, const OnProgress&) const {
  const Tokens before = folder.encode_prompt(context),
               whole = folder.encode(context + continuation);
  const auto shared =
      std::min<int64_t>(context.empty() ? 0 : std::ssize(before), std::ssize(whole));
  const auto scores =
      score_continuations(*folder.model, {{before, {whole.begin() + shared, whole.end()}}});
  return {folder, scores.front()};
}

Json LogLikelihood::Answer::json() const {
  return {{"log_probability", score.log_probability},
          {"greedy", score.greedy},
          {"tokens", json_of(score.tokens, folder)}};
}

Inspect::Answer Inspect::run(const ModelFolder& folder, const OnProgress&) const {
  return run(folder, folder.encode(text));
}

Inspect::Answer Inspect::run(const ModelFolder& folder, const Tokens& tokens) const {
  check_argument(!tokens.empty(), "the text is empty; there is nothing to inspect");
  InspectionOptions chosen = options;
  if (!token.empty()) chosen.token = only_token(folder.tokenizer, token);
  return {folder, tokens,
          inspect(*folder.model, tokens, position.value_or(std::ssize(tokens) - 1), chosen)};
}

Json Inspect::Answer::json() const {
  Json json = {{"tokens", tessera::json_of(tokens, folder.tokenizer)}};
  json.update(tessera::json_of(inspection, folder.tokenizer));
  if (folder.slot_readers)
    json["slot_readers"] =
        slot_readers_json(*folder.slot_readers, {&inspection, 1}, folder.tokenizer, kSlotReaders);
  return json;
}

InspectionPage::Answer InspectionPage::run(const ModelFolder& folder,
                                           const OnProgress& on_progress) const {
  const Tokens tokens = folder.encode(text);
  const int64_t count = std::ssize(tokens);
  check_argument(count > 0, "the text is empty; there is nothing to inspect");
  check_argument(count <= kMostPageTokens,
                 "the text has {} tokens; a page explains at most {}: give a shorter one", count,
                 kMostPageTokens);
  std::vector<Inspection> inspections;  // of every token but the first
  for (int64_t position = 0; position + 1 < count; ++position) {
    inspections.push_back(inspect(*folder.model, tokens, position, {.memories = kPageMemories}));
    on_progress(position + 2, count);
  }
  return {count, inspection_page(title, tokens, inspections, folder)};
}

config::Json InspectionPage::Answer::json() const {
  return {{"tokens", tokens}, {"html", html}};
}

}  // namespace tessera::jobs
