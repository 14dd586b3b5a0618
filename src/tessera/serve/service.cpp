#include "tessera/serve/service.h"

#include <nlohmann/json.hpp>

#include "tessera/base/config.h"

namespace tessera::serve {

using config::Json;

Router routes_of(Service& service) {
  Router router;
  add_status_routes(router, service);
  add_completion_routes(router, service);
  add_tokenizer_routes(router, service);
  return router;
}

Response json_response(const Json& json, int status) {
  Response response;
  response.status = status;
  response.body = json_line(json);
  return response;
}

std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

int64_t unix_seconds(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

}  // namespace tessera::serve
