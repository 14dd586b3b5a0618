#pragma once

#include <concepts>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "program/serve/service.h"
#include "tessera/model/gpt.h"
#include "tessera/model/memory_mosaic.h"

namespace tessera::serve {

using Json = nlohmann::ordered_json;

constexpr int64_t kGptWindow = 64;

/// An untrained Memory Mosaic over bytes and the end of text.
template <std::derived_from<MemoryMosaic> Mosaic = MemoryMosaic>
std::shared_ptr<Mosaic> byte_mosaic() {
  auto model = std::make_shared<Mosaic>(
      MemoryMosaicConfig{.vocabulary = 257, .window = 16, .layers = 2, .heads = 2, .channels = 16});
  model->initialise(7);
  return model;
}

/// The same with learned positions, which cannot read past its window.
inline std::shared_ptr<LanguageModel> byte_gpt() {
  auto model = std::make_shared<Gpt>(
      GptConfig{.vocabulary = 257, .window = kGptWindow, .layers = 2, .heads = 2, .channels = 16});
  model->initialise(7);
  return model;
}

inline ServedModel served(const std::string& name, std::shared_ptr<LanguageModel> model,
                          const EngineOptions& options = {}) {
  const Tokenizer tokenizer = Tokenizer::bytes(EndOfText::kPresent);
  auto engine = std::make_unique<Engine>(decoder_of(model, options.memory), options);
  return {name, std::string(model->kind()), tokenizer, model, std::move(engine)};
}

/// Collects what is sent; hangs up after some events.
class RecordedEvents : public EventStream {
 public:
  explicit RecordedEvents(size_t most = SIZE_MAX) : most_(most) {}
  bool send(std::string_view data) override {
    if (!send_comment()) return false;
    events.emplace_back(data);
    return events.size() < most_;
  }
  bool send_comment() override {
    in_vain += events.size() >= most_;
    return events.size() < most_;
  }

  std::vector<std::string> events;
  int in_vain = 0;  ///< what was sent after it had hung up

 private:
  size_t most_;
};

/// A service of the models "mosaic" and "gpt", asked without a network.
class TinyService {
 public:
  explicit TinyService(const EngineOptions& options = {}) {
    service.models.add(served("mosaic", byte_mosaic(), options));
    service.models.add(served("gpt", byte_gpt(), options));
    router = routes_of(service);
  }

  static Request request(const std::string& method, const std::string& path,
                         const std::string& body = "",
                         const std::string& type = "application/json") {
    Request request;
    request.method = method;
    request.set_target(path);
    request.headers["Content-Type"] = type;
    request.body = body;
    request.client = "127.0.0.1";
    return request;
  }
  Response ask(const std::string& method, const std::string& path, const std::string& body = "",
               const std::string& type = "application/json") {
    return router.answer(request(method, path, body, type));
  }
  /// The same of a client that does not wait for the answer.
  Response ask_and_leave(const std::string& method, const std::string& path,
                         const std::string& body = "") {
    Request left = request(method, path, body);
    left.hung_up = [] { return true; };
    return router.answer(std::move(left));
  }
  Response post(const std::string& path, const Json& body) {
    return ask("POST", path, body.dump());
  }
  /// The answer's JSON where its status is `status`; else the answer, for the failed test to show.
  Json json(const Response& response, int status = 200) {
    if (response.status != status) return {{"status", response.status}, {"body", response.body}};
    return Json::parse(response.body);
  }
  Json complete(const Json& body) { return json(post("/v1/completions", body)); }
  /// The events of a stream, parsed, but for the last, which is "[DONE]".
  std::vector<Json> stream(const std::string& path, const Json& body) {
    const Response response = post(path, body);
    RecordedEvents recorded;
    if (response.events) response.events(recorded);
    std::vector<Json> events;
    for (const auto& event : recorded.events)
      if (event != "[DONE]") events.push_back(Json::parse(event));
    if (recorded.events.empty() || recorded.events.back() != "[DONE]") events.clear();
    return events;
  }

  Service service;
  Router router;
};

}  // namespace tessera::serve
