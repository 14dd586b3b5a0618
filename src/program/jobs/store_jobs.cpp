#include "program/jobs/store_jobs.h"

#include <algorithm>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/number.h"
#include "tessera/store/question.h"
#include "tessera/store/recall.h"
#include "tessera/store/store_json.h"
#include "tessera/store/text_search.h"

namespace tessera::jobs {
namespace {

using config::Json;
using store::Ledger;
using store::MemoStore;

Json document_json(const store::StoredDocument& document, const store::DocumentDetails& details) {
  Json json = store::json_of(document, details);
  json["object"] = "document";
  return json;
}

}  // namespace

Recall::Answer Recall::run(const MemoStore& store, const OnProgress& on_progress) const {
  Answer answer{store, prompt, store::read_question(store, prompt, *this), {}};
  int64_t recited = 0;
  answer.recall = store::recall(store, answer.question.tokens, *this,
                                [&](const memo::NextToken&) { on_progress(++recited, tokens); });
  return answer;
}

Json Recall::Answer::json() const {
  return store::json_of(store, prompt, question, recall);
}

Ask::Answer Ask::run(const MemoStore& store, const OnProgress& on_progress) const {
  check_argument(prompts.size() <= kMost, "{} prompts; at most {} are answered at once",
                 prompts.size(), kMost);
  Answer answer;
  for (const std::string& prompt : prompts) {
    Recall recall;
    static_cast<store::RecallOptions&>(recall) = *this;
    recall.prompt = prompt;
    answer.answers.push_back(recall.run(store, on_progress));
  }
  return answer;
}

Json Ask::Answer::json() const {
  Json data = Json::array();
  for (const Recall::Answer& answer : answers) data.push_back(answer.json());
  return {{"object", "list"}, {"data", std::move(data)}};
}

store::Question Complete::question(const MemoStore& store) const {
  writing.sampling.check();
  store::Question question = store::read_question(store, prompt);
  store::check_prompt(store, question.tokens.size());
  return question;
}

Complete::Answer Complete::run(const MemoStore& store, const store::Question& question,
                               const OnNews& on_news) const {
  Answer answer{prompt, question, {}, {}, {}};
  answer.finish = store::complete(store, question, writing, [&](const Written& written) {
    on_news(written);
    answer.text += written.text;
    if (!written.token || written.finish == Finish::kEndOfText) return;
    const auto id = static_cast<int32_t>(written.token->token);
    answer.tokens.push_back({id, std::string(store.tokenizer().token_bytes(id))});
  });
  return answer;
}

Complete::Answer Complete::run(const MemoStore& store, const OnProgress& on_progress) const {
  int64_t written = 0;
  return run(store, question(store),
             [&](const Written&) { on_progress(++written, writing.max_tokens); });
}

Json Complete::Answer::json() const {
  Json list = Json::array();
  for (const Token& token : tokens) list.push_back({{"id", token.id}, {"text", token.text}});
  return {{"prompt", prompt},
          {"read_as", question.text},
          {"text", text},
          {"finish", config::enum_name(finish)},
          {"tokens", std::move(list)}};
}

Find::Answer Find::run(const MemoStore& store, const OnProgress& on_progress) const {
  return run(store, on_progress, [](int64_t) {});
}

Find::Answer Find::run(const MemoStore& store, const OnProgress& on_progress,
                       const OnShown& on_shown) const {
  check_argument(!text.empty(), "the text to find is empty");
  const store::Matching matching = exact         ? store::Matching::kBytes
                                   : letter_case ? store::Matching::kTyped
                                                 : store::Matching::kLetters;
  const Ledger& ledger = store.ledger();
  const auto documents = ledger.documents();
  Answer answer;
  int64_t bytes = 0;
  for (int64_t number = 0; number < std::ssize(documents); ++number) {
    const auto& document = documents[number];
    const int64_t before = answer.places;
    store::find_text(text, matching, document.id,
                     store::memorized_text(ledger, store.tokenizer(), document),
                     [&](const store::MatchThere& match_there) {
                       if (++answer.places > limit && limit != 0) return true;
                       const auto& match = answer.shown.emplace_back(match_there());
                       bytes += std::ssize(match.document) + std::ssize(match.before) +
                                std::ssize(match.text) + std::ssize(match.after);
                       on_shown(bytes);
                       return true;
                     });
    answer.documents += answer.places > before;
    on_progress(number + 1, std::ssize(documents));
  }
  return answer;
}

Json Find::Answer::json() const {
  Json data = Json::array();
  for (const auto& match : shown) data.push_back(store::json_of(match));
  return {{"places", places}, {"documents", documents}, {"data", std::move(data)}};
}

Search::Answer Search::run(const MemoStore& store, const OnProgress&) const {
  check_argument(store.ledger().searchable(),
                 "the store has documents that an earlier version wrote without an index; "
                 "'tessera memo search' makes it");
  return {store.ledger().search(words, limit)};
}

Json Search::Answer::json() const {
  Json data = Json::array();
  for (const auto& passage : passages)
    data.push_back({{"document", passage.document},
                    {"line", passage.line},
                    {"score", passage.score},
                    {"text", passage.text}});
  return {{"object", "list"}, {"data", std::move(data)}};
}

Documents::Answer Documents::run(const MemoStore& store, const OnProgress& on_progress) const {
  const store::Metadata wanted = parse_metadata("meta", meta);
  const int64_t first = since.empty() ? INT64_MIN : parse_day("since", since);
  const int64_t end = before.empty() ? INT64_MAX : parse_day("before", before);
  const auto is_wanted = [&](const store::DocumentDetails& details) {
    return details.memorized >= first && details.memorized < end &&
           (before.empty() || details.memorized != 0) &&  // 0: nobody knows
           std::ranges::includes(details.metadata, wanted);
  };
  const Ledger& ledger = store.ledger();
  const bool all_match = wanted.empty() && since.empty() && before.empty();
  auto documents = ledger.documents();
  // A document that is replaced between two parts of a list keeps its place in this order.
  std::ranges::sort(documents, {}, &store::StoredDocument::id);
  Answer answer{.erasure_pending = ledger.erasure_pending(), .unerased = ledger.unerased()};
  int64_t seen = 0;
  for (const auto& document : documents) {
    on_progress(++seen, std::ssize(documents));
    const bool is_full = limit != 0 && std::ssize(answer.documents) == limit;
    const bool is_listed = document.id > after && !is_full;
    store::DocumentDetails details;
    if (is_listed || !all_match) details = ledger.details(document);
    if (!is_wanted(details)) continue;
    ++answer.total;
    answer.has_more |= is_full;
    if (is_listed) answer.documents.push_back({document, std::move(details)});
  }
  return answer;
}

Json Documents::Answer::json() const {
  Json data = Json::array();
  for (const auto& [document, details] : documents)
    data.push_back(document_json(document, details));
  return {{"object", "list"},
          {"data", std::move(data)},
          {"total", total},
          {"has_more", has_more},
          {"erasure_pending", erasure_pending},
          {"unerased", unerased}};
}

namespace {

/// Lines, from 1, both included.
struct Lines {
  int64_t first = 1, last = INT64_MAX;
};

/// "12", "12-20" or "12-"; "" is all.
Lines parse_lines(const std::string& text) {
  if (text.empty()) return {};
  const size_t dash = std::min(text.find('-'), text.size());
  const auto first = number_from<int64_t>(text.substr(0, dash));
  auto last = first;
  if (dash + 1 == text.size())
    last = INT64_MAX;
  else if (dash < text.size())
    last = number_from<int64_t>(text.substr(dash + 1));
  if (!first || !last || *first < 1 || *last < *first)
    throw UsageError("range is '{}', expected lines such as 12, 12-20 or 12-", text);
  return {*first, *last};
}

}  // namespace

Show::Answer Show::run(const MemoStore& store, const OnProgress& on_progress) const {
  const Lines lines = parse_lines(range);
  const Ledger& ledger = store.ledger();
  Answer answer{ledger.get(id), {}, lines.first, {}};
  answer.details = ledger.details(answer.document);
  int64_t line = 0;
  char before = '\n';
  for (const char byte : store::memorized_text(ledger, store.tokenizer(), answer.document)) {
    line += before == '\n';
    if (line >= lines.first && line <= lines.last) answer.text += byte;
    before = byte;
  }
  on_progress(answer.document.tokens, answer.document.tokens);
  if (answer.text.empty() && !range.empty())
    throw UsageError("range is '{}', but '{}' ends with line {}", range, id, line);
  return answer;
}

Json Show::Answer::json() const {
  Json json = document_json(document, details);
  json["first_line"] = first_line;
  json["text"] = text;
  return json;
}

Stat::Answer Stat::run(const MemoStore& store, const OnProgress& on_progress) const {
  Answer answer{store::statistics_of(store), {}};
  if (measure > 0) answer.measured = store::measure_recall(store, measure, seed, on_progress);
  return answer;
}

Json Stat::Answer::json() const {
  return store::json_of(statistics, measured);
}

Verify::Answer Verify::run(const MemoStore& store, const OnProgress& on_progress) const {
  return {store::verify(store, on_progress)};
}

Json Verify::Answer::json() const {
  return store::json_of(result);
}

Memorize::Answer memorize(store::MemoWriter& writer, const std::string& id, std::string_view text,
                          store::Duplicates duplicates, const store::Metadata& metadata,
                          const OnProgress& on_progress, store::Times times) {
  const store::Memorized outcome =
      writer.memorize(id, text, duplicates, on_progress, metadata, times);
  const store::StoredDocument document = writer.ledger().get(id);
  return {document, writer.ledger().details(document), outcome};
}

Memorize::Answer Memorize::run(store::MemoWriter& writer, const OnProgress& on_progress) const {
  return memorize(writer, id, text,
                  replace ? store::Duplicates::kReplace : store::Duplicates::kRefuse,
                  parse_metadata("meta", meta), on_progress);
}

Json Memorize::Answer::json() const {
  Json json = document_json(document, details);
  json["outcome"] = config::enum_name(outcome);
  if (erasure_pending) json["erasure_pending"] = true;
  return json;
}

Forget::Answer Forget::run(store::MemoWriter& writer, const OnProgress& on_progress) const {
  Answer answer{writer.ledger().get(id)};
  writer.forget(id, on_progress);
  return answer;
}

Json Forget::Answer::json() const {
  Json json = {
      {"id", document.id},       {"object", "document"},          {"tokens", document.tokens},
      {"pairs", document.pairs}, {"checksum", document.checksum}, {"deleted", true}};
  if (erasure_pending) json["erasure_pending"] = true;
  return json;
}

}  // namespace tessera::jobs
