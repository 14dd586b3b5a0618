#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>

#include "program/jobs/store_jobs.h"
#include "program/serve/api_error.h"
#include "program/serve/completion_request.h"
#include "program/serve/fields.h"
#include "program/serve/sent_events.h"
#include "program/serve/service.h"
#include "tessera/base/config.h"
#include "tessera/store/store_json.h"

namespace tessera::serve {
namespace {

using config::Json;
using Snapshot = ServedStore::Snapshot;

/// What the server demands beyond the jobs, so that no answer grows without bound.
const Demands kDemands = {{"tokens", config::between(0, 65536)},
                          {"sources", config::between(1, 100)},
                          {"limit", config::between(1, 10000)},
                          {"measure", config::between(0, 100000)}};

// Bytes of a recital's answer, about: of a recited token, of each of its sources, and of them those
// of the document's id.
constexpr double kTokenBytes = 250, kSourceBytes = 120, kIdBytes = 24;

constexpr auto kBetweenEvents = std::chrono::milliseconds(100);
constexpr auto kBetweenSigns = std::chrono::seconds(1);  // of life, while there is nothing to tell

/// Does a long job and returns its answer.
using Work = std::function<Json(const OnProgress&, const Unwanted&)>;

/// The answer of a long job with this status; where the request asks for a stream, as events
/// {"done": …, "of": …} and at the end the answer as one event. What the job throws becomes an
/// error, in a stream as an event.
Response long_answer(const Service& service, const Request& request, int status, Work work) {
  if (!flag(request, "stream"))
    return json_response(work([](int64_t, int64_t) {}, service.unwanted(request.hung_up)), status);
  return Response::of_events([&service, work = std::move(work)](EventStream& stream) {
    SentEvents events(stream);
    const auto tell = [&](int64_t done, int64_t of) {
      if (events.silent_for(kBetweenEvents)) events.send(json_line({{"done", done}, {"of", of}}));
    };
    try {
      const Json answer =
          work(tell, service.unwanted([&] { return events.has_left(kBetweenSigns); }));
      events.send(json_line(answer));
      events.send("[DONE]");
    } catch (...) {
      events.send(as_api_error(std::current_exception()).json());
    }
  });
}

/// A store that cannot be read is listed by its name alone.
Response list_stores(const Service& service) {
  Json list = Json::array();
  for (const auto& model : service.models.all()) {
    if (!model->store) continue;
    Json entry = {{"id", model->name}, {"object", "store"}};
    try {
      service.models.store(model->name)->read([&](const Snapshot& snapshot) {
        entry.update(store::json_of(snapshot.store.ledger().totals()));
      });
    } catch (...) {
      as_api_error(std::current_exception());  // for the log
    }
    list.push_back(std::move(entry));
  }
  Json together = Json::array();
  for (const auto& [name, hosts] : service.together)
    together.push_back({{"id", name}, {"object", "store"}, {"stores", hosts->addresses()}});
  Json json = {{"object", "list"}, {"data", std::move(list)}};
  if (!together.empty()) json["together"] = std::move(together);
  return json_response(json);
}

/// Throws where the answer of a recital may be too large with so many tokens, whose sources are
/// looked up after them. id_bytes: of the longest id.
void check_recital(const Service& service, int64_t tokens, int64_t sources, double id_bytes) {
  const double source_bytes = kSourceBytes + std::max(0.0, id_bytes - kIdBytes);
  const double token_bytes = kTokenBytes + source_bytes * static_cast<double>(sources);
  service.check_answer(static_cast<double>(tokens) * token_bytes, "prompts, tokens or sources");
}

/// Does a job on the store as it is now. Throws as ServedStore::read.
template <typename Job>
Json answer_of(const Service& service, ServedStore& store, const Job& job,
               const OnProgress& on_progress, const Unwanted& unwanted) {
  Json json;
  const auto work = [&](const Snapshot& snapshot) {
    [[maybe_unused]] int64_t recited = 0;
    const auto look_up = [&](int64_t done, int64_t of) {
      snapshot.look_up();
      if constexpr (std::derived_from<Job, store::RecallOptions>)
        check_recital(service, ++recited, job.sources, static_cast<double>(snapshot.longest_id()));
      on_progress(done, of);
    };
    [[maybe_unused]] const auto check_places = [&](int64_t bytes) {
      snapshot.look_up();
      service.check_answer(static_cast<double>(bytes), "places (limit)");
    };
    if constexpr (std::same_as<Job, jobs::Find>)
      json = job.run(snapshot.store, look_up, check_places).json();
    else
      json = job.run(snapshot.store, look_up).json();
  };
  store.read(work, unwanted);
  return json;
}

/// Answers with a job on the store that the path names. A list of documents has no upper limit, and
/// of Ask the tokens of all prompts count.
template <typename Job>
Response answer_job(const Service& service, const Request& request) {
  auto store = store_of(service, request);
  const auto job =
      read_job<Job>(request, std::same_as<Job, jobs::Documents> ? Demands() : kDemands);
  if constexpr (std::same_as<Job, jobs::Ask>)
    service.check_tokens(static_cast<double>(job.prompts.size()) * static_cast<double>(job.tokens),
                         "tokens");
  return long_answer(service, request, 200,
                     [&service, store = std::move(store), job](const OnProgress& on_progress,
                                                               const Unwanted& unwanted) {
                       return answer_of(service, *store, job, on_progress, unwanted);
                     });
}

/// Of a store here, or of stores at several hosts together.
Response recall_text(const Service& service, const Request& request) {
  const auto together = service.together.find(request.values.at("store"));
  if (together == service.together.end()) return answer_job<jobs::Recall>(service, request);
  const auto job = read_job<jobs::Recall>(request, kDemands);
  // The hosts tell nothing before the answer.
  check_recital(service, job.tokens, job.sources, kIdBytes);
  return long_answer(service, request, 200,
                     [hosts = together->second, job](const OnProgress&, const Unwanted& unwanted) {
                       return hosts->recall(job.prompt, job, unwanted);
                     });
}

/// Answers with an edit, which is completed, once it has begun, whoever waits for it.
template <typename Job>
Response answer_edit(const Service& service, const Request& request) {
  return long_answer(service, request, std::same_as<Job, jobs::Memorize> ? 201 : 200,
                     [store = store_of(service, request), job = read_job<Job>(request)](
                         const OnProgress& on_progress, const Unwanted& unwanted) {
                       return store->edit(job, on_progress, unwanted).json();
                     });
}

/// As POST /v1/completions of the store's model.
Response complete_text(Service& service, const Request& request) {
  auto body = json_body(request);
  if (flag(request, "stream")) body["stream"] = true;
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
  throw ApiError(404, "there is no store '{}', {}", name,
                 names.empty() ? "this server has none"
                               : fmt::format("expected one of: {}", fmt::join(names, ", ")))
      .with_code("store_not_found");
}

void add_store_routes(Router& router, Service& service) {
  const auto add = [&](const std::string& method, const std::string& path, auto&& answer) {
    router.add(method, "/v1/stores" + path,
               [&service, answer](const Request& request) { return answer(service, request); });
  };
  add("GET", "", [](Service& service, const Request&) { return list_stores(service); });
  add("GET", "/{store}/documents", answer_job<jobs::Documents>);
  add("POST", "/{store}/documents", answer_edit<jobs::Memorize>);
  add("GET", "/{store}/documents/{id}", answer_job<jobs::Show>);
  add("DELETE", "/{store}/documents/{id}", answer_edit<jobs::Forget>);
  add("POST", "/{store}/recall", recall_text);
  add("POST", "/{store}/ask", answer_job<jobs::Ask>);
  add("POST", "/{store}/complete", complete_text);
  add("POST", "/{store}/find", answer_job<jobs::Find>);
  add("POST", "/{store}/search", answer_job<jobs::Search>);
  add("GET", "/{store}/stat", answer_job<jobs::Stat>);
  add("POST", "/{store}/verify", answer_job<jobs::Verify>);
}

}  // namespace tessera::serve
