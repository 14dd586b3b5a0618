#include <algorithm>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>

#include "program/model_jobs/model_jobs.h"
#include "program/serve/api_error.h"
#include "program/serve/fields.h"
#include "program/serve/service.h"
#include "tessera/base/config.h"
#include "tessera/model/language_model.h"

namespace tessera::serve {
namespace {

using config::Json;

/// A text of so many holds the engine up for seconds, by the square of its length.
constexpr int64_t kMostInspected = 4096;

/// The text's tokens, of "tokens" or "text".
TokenIds text_of(const ServedModel& model, const Fields& fields) {
  TokenIds tokens;
  fields.read({{"tokens", "", &tokens, config::between(0, INT32_MAX)}});
  if (fields.has("tokens")) return tokens;
  return encoded_text(model, fields.required_text("text"), SpecialTokens::kRecognised, "text");
}

/// What is inspected, and where the answer goes. The engine may still have it when the client has
/// hung up.
struct Inspection {
  jobs::Inspect job;
  ModelFolder folder;
  TokenIds text;
  std::promise<jobs::Inspect::Answer> answer = {};
};

/// On the engine's thread, between two tokens of the texts that are being written.
jobs::Inspect::Answer inspect_now(Engine& engine, const std::string& client,
                                  const std::shared_ptr<Inspection>& inspection,
                                  const Unwanted& unwanted) {
  EngineRequest work;
  work.client = client;
  work.calls.push_back([inspection] {
    inspection->answer.set_value(inspection->job.run(inspection->folder, inspection->text));
  });
  work.on_failure = [inspection](std::exception_ptr error) {
    inspection->answer.set_exception(error);
  };
  auto answer = inspection->answer.get_future();
  const auto ticket = engine.submit(std::move(work));
  while (answer.wait_for(kLookForClient) != std::future_status::ready)
    if (unwanted()) throw given_up();
  return answer.get();
}

Response inspect_text(Service& service, const Request& request) {
  const auto body = json_body(request);
  const Fields fields(body);
  const auto model = service.models.find(asked_model(request, fields.text("model").value_or("")));
  if (!model->model)
    throw ApiError(400,
                   "'{}' is a store, which is not inspected; POST /v1/stores/{}/recall names "
                   "the sources of its tokens",
                   model->name, model->name)
        .about("model");
  const TokenIds text = text_of(*model, fields);
  const int64_t most = std::min(kMostInspected, service.limits.tokens_per_request);
  if (std::ssize(text) > most)
    throw ApiError(400, "the text has {} tokens, expected at most {}", text.size(), most)
        .about("text");
  jobs::Inspect job;
  auto known = config::fields_of(job);  // the text has been read
  std::erase_if(known, [](const config::Field& field) { return field.name == "text"; });
  fields.read(known);
  encoded_text(*model, job.token, SpecialTokens::kRecognised, "token");  // refuses what it cannot
  const auto inspection = std::make_shared<Inspection>(
      Inspection{job, ModelFolder{model->model, model->tokenizer, model->slot_readers}, text});
  Json json = {{"model", model->name}};
  json.update(
      inspect_now(*model->engine, request.asker, inspection, service.unwanted(request.hung_up))
          .json());
  return json_response(json);
}

}  // namespace

void add_inspect_route(Router& router, Service& service) {
  add_model_route(router, "POST", "/v1/inspect",
                  [&](const Request& request) { return inspect_text(service, request); });
}

}  // namespace tessera::serve
