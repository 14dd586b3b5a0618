#include "program/jobs/audit_job.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "tessera/store/digest.h"
#include "tessera/store/text_search.h"

namespace tessera::jobs {
namespace {

using config::Json;

/// A text, and whether it is long enough to be asked for.
struct Candidate {
  FileDocument text;
  bool is_long_enough = false;
};

/// The texts of files and folders, each read and encoded: what is wrong with one is to be said
/// before the first is asked for, which may take minutes. Progress is counted in texts.
std::vector<Candidate> checked(const store::MemoStore& store, const std::vector<std::string>& paths,
                               const std::vector<std::string>& exclude,
                               const OnProgress& on_progress) {
  const int64_t shortest = memo::window_lengths(store.config().memory).front();
  const auto texts = documents_of(paths, {.exclude = exclude, .store = store.path()});
  std::vector<Candidate> candidates;
  for (const FileDocument& document : texts) {
    on_progress(std::ssize(candidates), std::ssize(texts));
    document.visit([&](const std::string& name, std::string_view text) {
      const auto tokens = saying_source(name, [&] { return store.tokenizer().encode(text); });
      candidates.push_back({document, std::ssize(tokens) > shortest});
    });
  }
  return candidates;
}

bool any_is_long_enough(const std::vector<Candidate>& candidates) {
  return std::ranges::any_of(candidates, &Candidate::is_long_enough);
}

/// Ids of the store's documents, by the digests of their texts.
std::map<std::string, std::string> ids_by_digest(const store::MemoStore& store) {
  std::map<std::string, std::string> ids;
  for (const auto& document : store.ledger().documents())
    ids[store::known_details(store.ledger(), store.tokenizer(), document).digest] = document.id;
  return ids;
}

std::vector<Audit::Audited> audited(const store::MemoStore& store, const store::StoreReader& reader,
                                    const std::vector<Candidate>& candidates,
                                    const OnProgress& on_progress) {
  const auto ids = ids_by_digest(store);
  std::vector<Audit::Audited> texts;
  for (const auto& [document, is_long_enough] : candidates)
    document.visit([&](const std::string& name, std::string_view text) {
      Audit::Audited& one = texts.emplace_back();
      one.name = name;
      if (const auto known = ids.find(store::text_digest(text)); known != ids.end())
        one.document = known->second;
      if (is_long_enough)
        one.audit = config::saying_where(
            name, [&] { return store::audit_text(store, reader, text, on_progress); });
    });
  return texts;
}

std::vector<double> scores(const std::vector<Audit::Audited>& texts,
                           double store::TextAudit::*score) {
  std::vector<double> all;
  for (const auto& text : texts)
    if (text.audit) all.push_back((*text.audit).*score);
  return all;
}

Json json_of(const std::vector<Audit::Audited>& texts) {
  Json list = Json::array();
  for (const auto& [name, document, audit, exposure] : texts) {
    Json& text = list.emplace_back(
        Json{{"text", name}, {"document", document.empty() ? Json(nullptr) : Json(document)}});
    for (const char* unknown :
         {"held", "tokens", "recalled", "extraction_strength", "log_likelihood", "min_k"})
      text[unknown] = nullptr;
    if (audit)
      text.update({{"held", config::enum_name(audit->held())},
                   {"tokens", audit->tokens},
                   {"recalled", audit->recalled},
                   {"extraction_strength", audit->extraction},
                   {"log_likelihood", audit->log_likelihood},
                   {"min_k", audit->lowest}});
    if (exposure) list.back()["exposure_bits"] = *exposure;
  }
  return list;
}

}  // namespace

Audit::Answer Audit::run(const store::MemoStore& store, const OnProgress& on_progress) const {
  using store::TextAudit;
  const auto candidates = checked(store, files, exclude, on_progress);
  std::vector<Candidate> others;
  if (!controls.empty()) others = checked(store, {controls}, exclude, on_progress);
  check_argument(controls.empty() || any_is_long_enough(others),
                 "controls is '{}', but none of its texts is long enough to be asked for",
                 controls);
  const store::StoreReader reader(store);
  Answer answer{audited(store, reader, candidates, on_progress), {}, {}};
  if (controls.empty()) return answer;
  answer.controls = audited(store, reader, others, on_progress);
  const auto asked = scores(answer.texts, &TextAudit::log_likelihood),
             likelihoods = scores(answer.controls, &TextAudit::log_likelihood);
  if (asked.empty()) return answer;
  for (Audited& text : answer.texts)
    if (text.audit) text.exposure = store::exposure(text.audit->log_likelihood, likelihoods);
  answer.membership = {store::area_under_curve(asked, likelihoods),
                       store::area_under_curve(scores(answer.texts, &TextAudit::lowest),
                                               scores(answer.controls, &TextAudit::lowest))};
  return answer;
}

Json Audit::Answer::json() const {
  Json json = {{"object", "list"}, {"data", json_of(texts)}};
  if (membership) {
    json["controls"] = json_of(controls);
    json["membership_auc"] = {{"log_likelihood", membership->by_likelihood},
                              {"min_k", membership->by_lowest}};
  }
  return json;
}

}  // namespace tessera::jobs
