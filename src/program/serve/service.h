#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "program/jobs/job.h"
#include "program/serve/metrics.h"
#include "program/serve/router.h"
#include "program/serve/served_model.h"
#include "program/serve/served_store.h"
#include "program/serve/unwanted.h"
#include "tessera/hosts/stores_of_hosts.h"

namespace tessera::serve {

constexpr int64_t kFollowers = 16;  ///< limit of the clients that follow runs

struct ServiceLimits {
  int64_t tokens_per_request = int64_t{1} << 20;  ///< read and written, of all its texts
  int64_t answer_bytes = int64_t{1} << 26;  ///< of an answer that is no stream; of recitals, places
  double request_seconds = 600;             ///< until a request is answered
};

/// Stores at other hosts that answer together under one name. From any thread: questions take
/// turns.
class ServedHosts {
 public:
  /// Throws as hosts::StoresOfHosts.
  ServedHosts(std::vector<std::string> addresses, const hosts::HostOptions& options);

  const std::vector<std::string>& addresses() const { return addresses_; }
  /// hosts::recall(), as JSON. Throws ApiError 503 where no host answers, and where it is unwanted.
  nlohmann::ordered_json recall(const std::string& prompt, const store::RecallOptions& options,
                                const Unwanted& unwanted);

 private:
  std::vector<std::string> addresses_;
  std::timed_mutex asking_;
  hosts::StoresOfHosts stores_;
};

/// Everything that the routes serve, without the network.
struct Service {
  ServedModels models;                                           ///< of which some are stores
  std::map<std::string, std::shared_ptr<ServedHosts>> together;  ///< stores at other hosts
  std::string runs;  ///< folder of run folders; "" for none
  ServiceLimits limits;
  Metrics metrics;
  std::chrono::system_clock::time_point started = std::chrono::system_clock::now();
  std::atomic<bool> stopping = false;  ///< ends the answers that have no end of their own
  std::atomic<int64_t> followers = 0;  ///< clients that follow a run

  /// Whether an answer is not wanted any more: its client has gone, or its time is over
  /// (ServiceLimits::request_seconds, from this call on).
  Unwanted unwanted(std::function<bool()> hung_up) const;
  /// Throws ApiError 413 where the texts of a request have more tokens than its limits allow.
  void check_tokens(double tokens, const std::string& field) const;
  /// Throws ApiError 413 where the answer of a request, before it is made, may have more bytes than
  /// its limits allow. fewer: what the client may ask for less of.
  void check_answer(double bytes, std::string_view fewer) const;
};

/// The store that a request's path names. Throws ApiError 404 that lists the names there are, or
/// says which hosts have it.
std::shared_ptr<ServedStore> store_of(const Service& service, const Request& request);

/// Adds a route that asks a model: at this path, and below /models/NAME for the model NAME, for
/// clients that name none in some of their requests.
void add_model_route(Router& router, const std::string& method, const std::string& pattern,
                     const Handler& handler);
/// The name of the model that a request asks: of its address, else `named` ("": none). Throws
/// ApiError 400 where the two differ.
std::string asked_model(const Request& request, const std::string& named);

/// All routes. The service must outlive the router.
Router routes_of(Service& service);

/// A JSON answer.
Response json_response(const nlohmann::ordered_json& json, int status = 200);
using jobs::json_line;
/// Seconds since 1970, as OpenAI's API gives times.
int64_t unix_seconds(std::chrono::system_clock::time_point time);

struct CompletionRequest;
/// The answer of POST /v1/completions.
Response complete(Service& service, const CompletionRequest& asked, const Request& request);

/// GET /v1/models, /v1/models/{model}, /health, /metrics.
void add_status_routes(Router& router, Service& service);
/// POST /v1/completions, /v1/chat/completions.
void add_completion_routes(Router& router, Service& service);
/// /v1/stores and what is below it: documents, recall, complete, find, stat, verify.
void add_store_routes(Router& router, Service& service);
/// /v1/stores/{store}/part and what is below it: what a process asks that adds up the answers of
/// several stores.
void add_part_routes(Router& router, Service& service);
/// POST /v1/inspect: which stored pairs made a token.
void add_inspect_route(Router& router, Service& service);
/// GET /v1/runs, and of each run its metrics (also as they are written), config and report.
void add_run_routes(Router& router, Service& service);
/// POST /v1/plan: how large a memory must be, or what it holds.
void add_plan_route(Router& router, Service& service);
/// GET /tokenizer_info, POST /tokenize, /detokenize, as vLLM's server has them.
void add_tokenizer_routes(Router& router, Service& service);

}  // namespace tessera::serve
