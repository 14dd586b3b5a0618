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
  router.add("POST", "/v1/completions", [&](const Request& request) {
    return complete(service, completion_request(json_body(request)), request);
  });
  router.add("POST", "/v1/chat/completions", [&](const Request& request) {
    return complete(service, chat_request(json_body(request)), request);
  });
}

}  // namespace tessera::serve
