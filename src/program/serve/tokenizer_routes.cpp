#include <nlohmann/json.hpp>

#include "program/jobs/tokenizer_jobs.h"
#include "program/serve/completion_request.h"
#include "program/serve/fields.h"
#include "program/serve/service.h"
#include "tessera/base/config.h"

namespace tessera::serve {
namespace {

using config::Json;

/// The model that the address, the body or the query names; else the first one.
ServedModels::Model model_of(const Service& service, const Request& request, const Fields& fields) {
  return service.models.find(
      asked_model(request, fields.text("model").value_or(request.parameter("model"))));
}

Response tokenizer_info(const Service& service, const Request& request) {
  const auto model = service.models.find(asked_model(request, request.parameter("model")));
  const auto end = model->tokenizer.end_of_text();
  const Json name = end ? Json(model->bytes_of(*end)) : Json(nullptr);
  return json_response({{"eos_token", name},
                        {"bos_token", nullptr},
                        {"pad_token", nullptr},
                        {"chat_template", kChatTemplate},
                        {"model", model->name},
                        {"vocab_size", model->tokenizer.vocabulary_size()},
                        {"description", model->tokenizer.description()}});
}

/// Names of special tokens become their ids. There are no other special tokens to add.
Response tokenize(const Service& service, const Request& request) {
  const auto body = json_body(request);
  const Fields fields(body);
  const auto model = model_of(service, request, fields);
  const std::string text = fields.required_text("prompt");
  bool names = false;
  fields.read({{"return_token_strs", "", &names}});
  const auto tokens = encoded_text(*model, text, SpecialTokens::kRecognised, "prompt");
  service.check_tokens(static_cast<double>(tokens.size()), "prompt");
  Json json = {{"tokens", tokens}, {"count", tokens.size()}, {"max_model_len", nullptr}};
  if (const auto longest = model->engine->longest_text()) json["max_model_len"] = *longest;
  if (names) {
    json["token_strs"] = Json::array();
    for (const int64_t token : tokens) json["token_strs"].push_back(model->shown(token));
  }
  return json_response(json);
}

Response detokenize(const Service& service, const Request& request) {
  const auto body = json_body(request);
  const Fields fields(body);
  const auto model = model_of(service, request, fields);
  jobs::Decode job;
  fields.read(config::fields_of(job));
  service.check_tokens(static_cast<double>(job.tokens.size()), "tokens");
  return json_response({{"prompt", job.run(model->tokenizer).text}});
}

}  // namespace

void add_tokenizer_routes(Router& router, Service& service) {
  add_model_route(router, "GET", "/tokenizer_info",
                  [&](const Request& request) { return tokenizer_info(service, request); });
  add_model_route(router, "POST", "/tokenize",
                  [&](const Request& request) { return tokenize(service, request); });
  add_model_route(router, "POST", "/detokenize",
                  [&](const Request& request) { return detokenize(service, request); });
}

}  // namespace tessera::serve
