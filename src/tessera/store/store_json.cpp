#include "tessera/store/store_json.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace tessera::store {
namespace {

using config::Json;

Json json_of(const memo::NextToken& token, std::string_view bytes, const TokenSources& sources) {
  Json json = {{"id", token.token},
               {"text", bytes},
               {"matched_length", token.matched_length},
               {"score", token.score},
               {"probability", token.probability},
               {"recalled", token.recalled},
               {"window_scores", token.window_scores},
               {"sources", Json::array()},
               {"places", sources.places}};
  for (const Source& source : sources.best) json["sources"].push_back(json_of(source));
  return json;
}

}  // namespace

Json json_of(const Source& source) {
  return {{"document", source.document}, {"position", source.position},
          {"byte", source.byte},         {"character", source.character},
          {"line", source.line},         {"matched_length", source.matched_length}};
}

Json json_of(const LedgerTotals& totals) {
  return {{"documents", totals.documents}, {"tokens", totals.tokens}, {"pairs", totals.pairs}};
}

Json json_of(const StoredDocument& document, const DocumentDetails& details) {
  Json json = {{"id", document.id},
               {"tokens", document.tokens},
               {"pairs", document.pairs},
               {"checksum", document.checksum},
               {"metadata", details.metadata}};
  if (details.digest.empty()) return json;  // an earlier version stored it
  json["bytes"] = details.bytes;
  json["sha256"] = details.digest;
  if (details.memorized != 0) json["memorized"] = details.memorized;
  return json;
}

Json json_of(const TextMatch& match) {
  return {{"document", match.document},
          {"line", match.line},
          {"byte", match.byte},
          {"character", match.character},
          {"text", match.text},
          {"before", match.before},
          {"after", match.after},
          {"goes_on_before", match.goes_on_before},
          {"goes_on_after", match.goes_on_after}};
}

Json json_of(const StoreStatistics& statistics, const std::optional<MeasuredRecall>& measured) {
  Json json = {{"digest", statistics.digest}};
  json.update(json_of(statistics.totals));
  json.update(
      Json{{"load", statistics.fullness.filled},
           {"capacity_pairs", static_cast<int64_t>(statistics.fullness.capacity)},
           {"expected_recall", statistics.fullness.expected_recall_after.back()},
           {"expected_recall_after", statistics.fullness.expected_recall_after},
           {"code", config::enum_name(statistics.memory.code)},
           {"dimension", statistics.memory.dimension},
           {"matrices", statistics.memory.shards},
           {"window_lengths", memo::window_lengths(statistics.memory)},
           {"vocabulary", statistics.memory.vocabulary},
           {"tokenizer", statistics.tokenizer},
           {"seed", statistics.memory.seed},
           {"bytes", {{"matrix", statistics.matrix_bytes}, {"ledger", statistics.ledger_bytes}}},
           {"erasure_pending", statistics.erasure_pending},
           {"unerased", statistics.unerased}});
  if (measured)
    json["measured_recall"] = {{"recall", measured->share_right()},
                               {"abstained", measured->share_abstained()},
                               {"positions", measured->positions}};
  return json;
}

Json json_of(const Verification& verification) {
  Json json = {{"verified", !verification.erasure_pending}};
  json.update(json_of(verification.totals));
  json["digest"] = verification.digest;
  json["unerased"] = verification.unerased;
  json["log_bytes"] = verification.log_bytes;
  return json;
}

Json json_of(const QuestionedStore& store, const std::string& prompt, const Question& question,
             const Recall& recall) {
  RecitedText text(store.tokenizer(), question.rest);
  Json tokens = Json::array();
  for (size_t i = 0; i < recall.tokens.size(); ++i) {
    const memo::NextToken& token = recall.tokens[i];
    text.add(token.token);
    tokens.push_back(json_of(token, store.tokenizer().token_bytes(token.token), recall.sources[i]));
  }
  return {{"prompt", prompt},
          {"read_as", question.text},
          {"differing_words", question.differences},
          {"text", text.text()},
          {"finish", config::enum_name(recall.finish)},
          {"window_lengths", memo::window_lengths(store.config().memory)},
          {"tokens", std::move(tokens)}};
}

}  // namespace tessera::store
