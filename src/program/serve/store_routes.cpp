#include <fmt/ranges.h>

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>

#include "program/jobs/store_jobs.h"
#include "program/serve/api_error.h"
#include "program/serve/completion.h"
#include "program/serve/fields.h"
#include "program/serve/service.h"
#include "tessera/base/config.h"
#include "tessera/store/store_json.h"

namespace tessera::serve {
namespace {

using config::Json;
using jobs::OnProgress;
using Snapshot = ServedStore::Snapshot;

/// What the server demands beyond the jobs, so that no answer grows without bound.
const Demands kDemands = {{"tokens", config::between(0, 65536)},
                          {"sources", config::between(1, 100)},
                          {"limit", config::between(1, 10000)},
                          {"measure", config::between(0, 100000)}};

constexpr auto kBetweenEvents = std::chrono::milliseconds(100);

bool wants_events(const Request& request) {
  return request.parameter("stream") == "true";
}

/// The answer of a long job. `stream`: as events {"done": …, "of": …}, at most ten a second, and
/// at the end the job's result as one event; else its result alone, with this status. What the job
/// throws becomes an error, in a stream as an event.
Response long_answer(bool stream, int status, std::function<Json(const OnProgress&)> job) {
  if (!stream) return json_response(job([](int64_t, int64_t) {}), status);
  return Response::of_events([job = std::move(job)](EventStream& events) {
    auto told = std::chrono::steady_clock::now();
    const auto tell = [&](int64_t done, int64_t all) {
      const auto now = std::chrono::steady_clock::now();
      if (now - told < kBetweenEvents) return;
      told = now;
      events.send(json_line({{"done", done}, {"of", all}}));
    };
    try {
      events.send(json_line(job(tell)));
      events.send("[DONE]");
    } catch (...) {
      events.send(as_api_error(std::current_exception()).json());
    }
  });
}

Response list_stores(const Service& service) {
  Json list = Json::array();
  for (const auto& model : service.models.all()) {
    if (!model->store) continue;
    Json entry;
    service.models.store(model->name)->read([&](const Snapshot& snapshot) {
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

/// Does a job on the store as it is now. Throws as ServedStore::read.
template <typename Job>
Json answer_of(ServedStore& store, const Job& job, const ServedStore::Unwanted& unwanted,
               const OnProgress& on_progress) {
  Json json;
  const auto work = [&](const Snapshot& snapshot) {
    const auto look_up = [&](int64_t done, int64_t of) {
      snapshot.look_up();
      on_progress(done, of);
    };
    json = job.run(snapshot.store, look_up).json();
  };
  store.read(work, unwanted);
  return json;
}

/// Answers with a job on the store that the path names.
template <typename Job>
Response answer_job(const Service& service, const Request& request) {
  const auto work = [store = store_of(service, request), job = read_job<Job>(request, kDemands),
                     unwanted = service.unwanted(request)](const OnProgress& on_progress) {
    return answer_of(*store, job, unwanted, on_progress);
  };
  return long_answer(wants_events(request), 200, work);
}

/// Of a store here, or of stores at several hosts together.
Response recall_text(const Service& service, const Request& request) {
  const auto together = service.together.find(request.values.at("store"));
  if (together == service.together.end()) return answer_job<jobs::Recall>(service, request);
  const auto work = [hosts = together->second, job = read_job<jobs::Recall>(request, kDemands)](
                        const OnProgress&) { return hosts->recall(job.prompt, job.options()); };
  return long_answer(wants_events(request), 200, work);
}

/// Answers with an edit.
template <typename Job>
Response answer_edit(const Service& service, const Request& request, int status) {
  const auto work = [store = store_of(service, request),
                     job = read_job<Job>(request)](const OnProgress& on_progress) {
    return store->edit(job, on_progress).json();
  };
  return long_answer(wants_events(request), status, work);
}

/// As POST /v1/completions of the store's model.
Response complete_text(Service& service, const Request& request) {
  auto body = json_body(request);
  body["model"] = store_of(service, request)->name();
  return complete(service, completion_request(body), request);
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
    router.add(method, "/v1/stores" + path,
               [&service, answer](const Request& request) { return answer(service, request); });
  };
  add("GET", "", [](Service& service, const Request&) { return list_stores(service); });
  add("GET", "/{store}/documents", answer_job<jobs::Documents>);
  add("POST", "/{store}/documents", [](Service& service, const Request& request) {
    return answer_edit<jobs::Memorize>(service, request, 201);
  });
  add("GET", "/{store}/documents/{id}", answer_job<jobs::Show>);
  add("DELETE", "/{store}/documents/{id}", [](Service& service, const Request& request) {
    return answer_edit<jobs::Forget>(service, request, 200);
  });
  add("POST", "/{store}/recall", recall_text);
  add("POST", "/{store}/ask", answer_job<jobs::Ask>);
  add("POST", "/{store}/complete", complete_text);
  add("POST", "/{store}/find", answer_job<jobs::Find>);
  add("POST", "/{store}/search", answer_job<jobs::Search>);
  add("GET", "/{store}/stat", answer_job<jobs::Stat>);
  add("POST", "/{store}/verify", answer_job<jobs::Verify>);
}

}  // namespace tessera::serve
