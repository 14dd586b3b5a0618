#include <nlohmann/json.hpp>

#include "program/serve/api_error.h"
#include "program/serve/completion.h"
#include "program/serve/fields.h"
#include "program/serve/progress_events.h"
#include "program/serve/service.h"
#include "tessera/base/config.h"
#include "tessera/store/document_text.h"
#include "tessera/store/question.h"
#include "tessera/store/recall_measure.h"
#include "tessera/store/statistics.h"
#include "tessera/store/store_json.h"
#include "tessera/store/text_search.h"
#include "tessera/store/verify.h"

namespace tessera::serve {
namespace {

using config::Json;
using Snapshot = ServedStore::Snapshot;

constexpr int64_t kMostSources = 100;
constexpr int64_t kMostPlaces = 10000;
constexpr int64_t kMostMeasured = 100000;
constexpr int64_t kMostRecited = 65536;  // tokens

bool wants_events(const Request& request) {
  return request.parameter("stream") == "true";
}

Json document_json(const store::StoredDocument& document, const store::DocumentDetails& details) {
  Json json = store::json_of(document, details);
  json["object"] = "document";
  return json;
}

Response list_stores(const Service& service) {
  Json list = Json::array();
  for (const auto& model : service.models.all()) {
    if (!model->store) continue;
    Json entry;
    model->store->read([&](const Snapshot& snapshot) {
      entry = {{"id", model->name}, {"object", "store"}};
      entry.update(store::json_of(snapshot.store.ledger().totals()));
    });
    list.push_back(std::move(entry));
  }
  Json together = Json::array();
  for (const auto& [name, hosts] : service.together)
    together.push_back({{"id", name}, {"object", "store"}, {"stores", hosts->addresses()}});
  Json json = {{"object", "list"}, {"data", std::move(list)}};
  if (!together.empty()) json["together"] = std::move(together);
  return json_response(json);
}

Response list_documents(ServedStore& store, const ServedStore::Unwanted& unwanted) {
  Json list;
  const auto read = [&](const Snapshot& snapshot) {
    list = Json::array();
    const store::Ledger& ledger = snapshot.store.ledger();
    for (const auto& document : ledger.documents())
      list.push_back(document_json(document, ledger.details(document)));
  };
  store.read(read, unwanted);
  return json_response({{"object", "list"}, {"data", std::move(list)}});
}

Response get_document(ServedStore& store, const std::string& id,
                      const ServedStore::Unwanted& unwanted) {
  Json json;
  const auto read = [&](const Snapshot& snapshot) {
    const store::Ledger& ledger = snapshot.store.ledger();
    const auto document = document_of(ledger, id);
    json = document_json(document, ledger.details(document));
    json["text"] = store::whole_text(ledger, store.tokenizer(), document);
  };
  store.read(read, unwanted);
  return json_response(json);
}

/// A document as JSON {"id", "text", "replace"}, or as text with ?id= and ?replace=true.
struct NewDocument {
  std::string id, text;
  bool replace = false;
};

NewDocument new_document(const Request& request) {
  const bool replace = request.parameter("replace") == "true";
  if (request.header("Content-Type").starts_with("text/")) {
    if (request.parameter("id").empty())
      throw ApiError(400, "a document that comes as text needs its id in the path: ?id=NAME")
          .about("id");
    return {request.parameter("id"), request.body, replace};
  }
  const auto body = json_body(request);
  const Fields fields(body);
  return {fields.required_text("id"), fields.required_text("text"),
          replace || fields.boolean("replace", false)};
}

Response add_document(const std::shared_ptr<ServedStore>& store, const Request& request) {
  return long_answer(
      wants_events(request), 201,
      [store, document = new_document(request)](const OnProgress& on_progress) {
        const auto stored =
            store->memorize(document.id, document.text, document.replace, on_progress);
        Json json = document_json(stored.document, stored.details);
        constexpr std::array<const char*, 3> kOutcomes = {"new", "replaced", "unchanged"};
        json["outcome"] = kOutcomes[static_cast<size_t>(stored.outcome)];
        return json;
      });
}

Response delete_document(const std::shared_ptr<ServedStore>& store, const Request& request) {
  return long_answer(
      wants_events(request), 200,
      [store, id = request.values.at("id")](const OnProgress& on_progress) {
        const store::StoredDocument document = store->forget(id, on_progress);
        return Json{
            {"id", document.id},       {"object", "document"},          {"tokens", document.tokens},
            {"pairs", document.pairs}, {"checksum", document.checksum}, {"deleted", true}};
      });
}

struct RecallRequest {
  std::string prompt;
  store::RecallOptions options;
};

RecallRequest recall_request(const Request& request) {
  const auto body = json_body(request);
  const Fields fields(body);
  RecallRequest asked = {fields.required_text("prompt"), {}};
  asked.options.tokens = fields.integer("tokens", asked.options.tokens, 0, kMostRecited);
  asked.options.error_rate =
      fields.number("error_rate", asked.options.error_rate, 1e-300, 0.999999);
  asked.options.sources = static_cast<size_t>(fields.integer("sources", 3, 1, kMostSources));
  return asked;
}

Response recall_text(const Service& service, const Request& request) {
  const RecallRequest asked = recall_request(request);
  const auto together = service.together.find(request.values.at("store"));
  if (together != service.together.end())
    return long_answer(wants_events(request), 200,
                       [hosts = together->second, asked](const OnProgress&) {
                         return hosts->recall(asked.prompt, asked.options);
                       });
  const auto recall = [store = store_of(service, request), asked,
                       unwanted = service.unwanted(request)](const OnProgress& on_progress) {
    Json json;
    const auto read = [&](const Snapshot& snapshot) {
      const store::Question question = store::read_question(snapshot.store, asked.prompt);
      int64_t tokens = 0;
      const auto on_token = [&](const memo::NextToken&) {
        snapshot.look_up();
        on_progress(++tokens, asked.options.tokens);
      };
      json =
          store::json_of(snapshot.store, asked.prompt, question,
                         store::recall(snapshot.store, question.tokens, asked.options, on_token));
    };
    store->read(read, unwanted);
    return json;
  };
  return long_answer(wants_events(request), 200, recall);
}

/// As POST /v1/completions of the store's model.
Response complete_text(Service& service, const ServedStore& store, const Request& request) {
  auto body = json_body(request);
  body["model"] = store.name();
  return complete(service, completion_request(body), request);
}

/// Typed texts are matched in either case; `case` and `exact` as the options of `tessera memo
/// find`.
store::Matching matching_of(const Fields& fields) {
  if (fields.boolean("exact", false)) return store::Matching::kBytes;
  return fields.boolean("case", false) ? store::Matching::kTyped : store::Matching::kLetters;
}

Response find_in_documents(ServedStore& store, const Request& request,
                           const ServedStore::Unwanted& unwanted) {
  const auto body = json_body(request);
  const Fields fields(body);
  const std::string text = fields.required_text("text");
  const int64_t limit = fields.integer("limit", 100, 1, kMostPlaces);
  const store::Matching matching = matching_of(fields);
  Json places;
  int64_t count = 0, documents = 0;
  const auto read = [&](const Snapshot& snapshot) {
    places = Json::array();
    count = documents = 0;
    for (const auto& document : snapshot.store.ledger().documents()) {
      const int64_t before = count;
      store::find_text(text, matching, document.id, snapshot.store.ledger().pieces(document),
                       snapshot.store.tokenizer(), [&](const store::TextMatch& match) {
                         if (++count <= limit) places.push_back(store::json_of(match));
                         return true;
                       });
      documents += count > before;
    }
  };
  store.read(read, unwanted);
  return json_response({{"places", count}, {"documents", documents}, {"data", places}});
}

Response statistics(ServedStore& store, const Request& request,
                    const ServedStore::Unwanted& unwanted) {
  const int64_t positions = query_number(request, "measure", 0, kMostMeasured);
  Json json = {{"id", store.name()}, {"object", "store"}};
  const auto read = [&](const Snapshot& snapshot) {
    std::optional<store::MeasuredRecall> measured;
    if (positions > 0)
      measured =
          store::measure_recall(snapshot.store, positions, 0, [&](int64_t) { snapshot.look_up(); });
    json.update(store::json_of(store::statistics_of(snapshot.store), measured));
  };
  store.read(read, unwanted);
  return json_response(json);
}

Response verify_store(const std::shared_ptr<ServedStore>& store, const Request& request,
                      const ServedStore::Unwanted& unwanted) {
  const auto verify = [store, unwanted](const OnProgress& on_progress) {
    Json json;
    const auto read = [&](const Snapshot& snapshot) {
      const auto on_tokens = [&](int64_t done, int64_t tokens) {
        snapshot.look_up();
        on_progress(done, tokens);
      };
      json = store::json_of(store::verify(snapshot.store, on_tokens));
    };
    store->read(read, unwanted);
    return json;
  };
  return long_answer(wants_events(request), 200, verify);
}

}  // namespace

std::shared_ptr<ServedStore> store_of(const Service& service, const Request& request) {
  const std::string& name = request.values.at("store");
  if (auto store = service.models.store(name)) return store;
  const auto together = service.together.find(name);
  if (together != service.together.end())
    throw ApiError(404,
                   "'{}' is a group of remote stores and supports recall only; send other requests "
                   "to its members: {}",
                   name, fmt::join(together->second->addresses(), ", "))
        .with_code("store_at_hosts");
  std::vector<std::string> names;
  for (const auto& model : service.models.all())
    if (model->store) names.push_back(model->name);
  throw ApiError(404, "there is no store '{}', expected one of: {}", name, fmt::join(names, ", "))
      .with_code("store_not_found");
}

void add_store_routes(Router& router, Service& service) {
  const auto add = [&](const std::string& method, const std::string& path, auto&& answer) {
    router.add(method, "/v1/stores/{store}" + path, [&service, answer](const Request& request) {
      return answer(store_of(service, request), request);
    });
  };
  using Store = const std::shared_ptr<ServedStore>&;
  router.add("GET", "/v1/stores", [&](const Request&) { return list_stores(service); });
  add("GET", "/documents", [&service](Store store, const Request& request) {
    return list_documents(*store, service.unwanted(request));
  });
  add("POST", "/documents", add_document);
  add("GET", "/documents/{id}", [&service](Store store, const Request& request) {
    return get_document(*store, request.values.at("id"), service.unwanted(request));
  });
  add("DELETE", "/documents/{id}", delete_document);
  router.add("POST", "/v1/stores/{store}/recall",
             [&](const Request& request) { return recall_text(service, request); });
  add("POST", "/complete", [&service](Store store, const Request& request) {
    return complete_text(service, *store, request);
  });
  add("POST", "/find", [&service](Store store, const Request& request) {
    return find_in_documents(*store, request, service.unwanted(request));
  });
  add("GET", "/stat", [&service](Store store, const Request& request) {
    return statistics(*store, request, service.unwanted(request));
  });
  add("POST", "/verify", [&service](Store store, const Request& request) {
    return verify_store(store, request, service.unwanted(request));
  });
}

}  // namespace tessera::serve
