#include "program/serve/completion.h"
#include "program/serve/fields.h"
#include "program/serve/service.h"

namespace tessera::serve {

Response complete(Service& service, const CompletionRequest& asked, const Request& request) {
  const auto completion = std::make_shared<Completion>(service, asked, request);
  if (!asked.stream) return json_response(completion->answer(request.hung_up));
  return Response::of_events([completion](EventStream& events) { completion->stream(events); });
}

void add_completion_routes(Router& router, Service& service) {
  const auto add = [&](const char* pattern, CompletionRequest (*read)(const nlohmann::json&)) {
    add_model_route(router, "POST", pattern, [&service, read](const Request& request) {
      CompletionRequest asked = read(json_body(request));
      asked.model = asked_model(request, asked.model);
      return complete(service, asked, request);
    });
  };
  add("/v1/completions", completion_request);
  add("/v1/chat/completions", chat_request);
}

}  // namespace tessera::serve
