#include <nlohmann/json.hpp>

#include "program/serve/service.h"
#include "tessera/base/config.h"
#include "tessera/base/machine.h"

namespace tessera::serve {
namespace {

using config::Json;

Json json_of(const ServedModel& model, const Service& service) {
  return {{"id", model.name},
          {"object", "model"},
          {"created", unix_seconds(service.started)},
          {"owned_by", "tessera"},
          {"kind", model.kind},
          {"vocabulary", model.engine->vocabulary()},
          {"tokenizer", model.tokenizer.description()},
          {"max_model_len",
           model.engine->longest_text() ? Json(*model.engine->longest_text()) : Json(nullptr)}};
}

Response list_models(const Service& service, const Request& request) {
  Json list = Json::array();
  if (const std::string name = asked_model(request, ""); !name.empty())
    list.push_back(json_of(*service.models.find(name), service));
  else
    for (const auto& model : service.models.all()) list.push_back(json_of(*model, service));
  return json_response({{"object", "list"}, {"data", std::move(list)}});
}

/// One metric of every engine.
std::string of_engines(const Service& service, const std::string& name, const std::string& type,
                       const std::string& help, const std::atomic<int64_t> EngineCounts::*count) {
  std::string text = metric_head(name, type, help);
  for (const auto& model : service.models.all())
    text += metric_line(name, {{"model", model->name}},
                        static_cast<double>((model->engine->counts().*count).load()));
  return text;
}

Response metrics(const Service& service) {
  const std::string text =
      service.metrics.text() +
      of_engines(service, "tessera_prompt_tokens_total", "counter", "Tokens read or scored.",
                 &EngineCounts::tokens_read) +
      of_engines(service, "tessera_generated_tokens_total", "counter", "Tokens written.",
                 &EngineCounts::tokens_written) +
      of_engines(service, "tessera_steps_total", "counter",
                 "Steps, each of which writes one token of every text.", &EngineCounts::steps) +
      of_engines(service, "tessera_texts", "gauge", "Texts that are being written.",
                 &EngineCounts::rows) +
      of_engines(service, "tessera_requests_waiting", "gauge", "Requests that have not begun.",
                 &EngineCounts::waiting) +
      metric_head("process_resident_memory_bytes", "gauge", "Memory of the process.") +
      metric_line("process_resident_memory_bytes", {}, static_cast<double>(resident_memory()));
  return {.content_type = "text/plain; version=0.0.4", .body = text};
}

}  // namespace

void add_status_routes(Router& router, Service& service) {
  add_model_route(router, "GET", "/v1/models",
                  [&](const Request& request) { return list_models(service, request); });
  router.add("GET", "/v1/models/{model}", [&](const Request& request) {
    return json_response(json_of(*service.models.find(request.values.at("model")), service));
  });
  router.add("GET", "/health", [](const Request&) { return json_response({{"status", "ok"}}); });
  router.add("GET", "/metrics", [&](const Request&) { return metrics(service); });
}

}  // namespace tessera::serve
