#include <future>
#include <nlohmann/json.hpp>

#include "program/serve/api_error.h"
#include "program/serve/fields.h"
#include "program/serve/service.h"
#include "tessera/base/config.h"
#include "tessera/infer/inspection.h"
#include "tessera/model/language_model.h"

namespace tessera::serve {
namespace {

using config::Json;

/// The text's tokens, of "tokens" or "text".
TokenIds text_of(const ServedModel& model, const Fields& fields) {
  if (fields.has("tokens")) return fields.ids("tokens");
  return encoded_text(model, fields.required_text("text"), SpecialTokens::kRecognised, "text");
}

/// On the engine's thread, between two tokens of the texts that are being written.
Inspection inspect_now(const ServedModel& model, const std::string& client, const TokenIds& text,
                       int64_t position, const InspectionOptions& options) {
  std::promise<Inspection> promise;
  EngineRequest work;
  work.client = client;
  work.calls.push_back(
      {[&] { promise.set_value(inspect(*model.model, text, position, options)); }});
  work.on_failure = [&](std::exception_ptr error) { promise.set_exception(error); };
  const auto ticket = model.engine->submit(std::move(work));
  return promise.get_future().get();
}

Response inspect_text(Service& service, const Request& request) {
  const auto body = json_body(request);
  const Fields fields(body);
  const ServedModels::Model found = service.models.find(fields.text("model").value_or(""));
  const ServedModel& model = *found;
  if (!model.model)
    throw ApiError(400,
                   "'{}' is a store, which is not inspected; POST /v1/stores/{}/recall names "
                   "the sources of its tokens",
                   model.name, model.name)
        .about("model");
  const TokenIds text = text_of(model, fields);
  if (std::ssize(text) > service.limits.tokens_per_request)
    throw ApiError(400, "the text has {} tokens, expected at most {}", text.size(),
                   service.limits.tokens_per_request)
        .about("text");
  const int64_t last = std::max<int64_t>(0, std::ssize(text) - 1);
  InspectionOptions options;
  fields.read(config::fields_of(options));
  options.token = fields.integer("token", 0, model.engine->vocabulary() - 1);
  const int64_t position = fields.integer("position", last, 0, last);
  const Inspection inspection = inspect_now(model, request.asker, text, position, options);
  Json json = {{"model", model.name}, {"tokens", json_of(text, model.tokenizer)}};
  json.update(json_of(inspection, model.tokenizer));
  return json_response(json);
}

}  // namespace

void add_inspect_route(Router& router, Service& service) {
  router.add("POST", "/v1/inspect",
             [&](const Request& request) { return inspect_text(service, request); });
}

}  // namespace tessera::serve
