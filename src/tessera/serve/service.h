#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tessera/serve/metrics.h"
#include "tessera/serve/router.h"
#include "tessera/serve/served_model.h"

namespace tessera::serve {

struct ServiceLimits {
  int64_t tokens_per_request = int64_t{1} << 20;  ///< read and written, of all its texts
  double request_seconds = 600;                   ///< until a request is answered
};

/// Everything that the routes serve, without the network.
struct Service {
  ServedModels models;
  ServiceLimits limits;
  Metrics metrics;
  std::chrono::system_clock::time_point started = std::chrono::system_clock::now();
};

/// All routes. The service must outlive the router.
Router routes_of(Service& service);

/// A JSON answer.
Response json_response(const nlohmann::ordered_json& json, int status = 200);
/// JSON on one line; bytes that are not UTF-8 become U+FFFD.
std::string json_line(const nlohmann::ordered_json& json);
/// Seconds since 1970, as OpenAI's API gives times.
int64_t unix_seconds(std::chrono::system_clock::time_point time);

/// GET /v1/models, /v1/models/{model}, /health, /metrics.
void add_status_routes(Router& router, Service& service);
/// POST /v1/completions, /v1/chat/completions.
void add_completion_routes(Router& router, Service& service);
/// GET /tokenizer_info, POST /tokenize, /detokenize, as vLLM's server has them.
void add_tokenizer_routes(Router& router, Service& service);

}  // namespace tessera::serve
