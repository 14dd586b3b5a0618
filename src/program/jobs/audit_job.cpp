#include "program/jobs/audit_job.h"

#include <map>
#include <nlohmann/json.hpp>

#include "tessera/data/text_source.h"
#include "tessera/store/digest.h"
#include "tessera/store/text_search.h"

namespace tessera::jobs {
namespace {

using config::Json;

std::vector<Audit::Audited> audited(const store::MemoStore& store, const store::StoreReader& reader,
                                    const std::vector<std::string>& paths,
                                    const OnProgress& on_progress) {
  std::map<std::string, std::string> ids;  // of the documents, by their digests
  for (const auto& document : store.ledger().documents())
    ids[store::known_details(store.ledger(), store.tokenizer(), document).digest] = document.id;
  std::vector<Audit::Audited> texts;
  for (const std::string& path : paths)
    TextSource::from_path(path).for_each([&](const std::string& name, std::string_view text) {
      Audit::Audited& one = texts.emplace_back();
      one.name = name;
      if (const auto known = ids.find(store::text_digest(text)); known != ids.end())
        one.document = known->second;
      const auto tokens = saying_source(name, [&] { return store.tokenizer().encode(text); });
      if (std::ssize(tokens) <= memo::window_lengths(store.config().memory).front()) return;
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
  const store::StoreReader reader(store);
  Answer answer{audited(store, reader, files, on_progress), {}, {}};
  if (controls.empty()) return answer;
  answer.controls = audited(store, reader, {controls}, on_progress);
  const auto asked = scores(answer.texts, &TextAudit::log_likelihood),
             likelihoods = scores(answer.controls, &TextAudit::log_likelihood);
  check_argument(!likelihoods.empty(),
                 "controls is '{}', but none of its texts is long enough to be asked for",
                 controls);
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
