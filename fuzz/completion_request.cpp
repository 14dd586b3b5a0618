// Any bytes as the body of a request for completions or a chat: refused with a status, or a request
// whose fields are within their limits.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "fuzz/seeds.h"
#include "program/serve/api_error.h"
#include "program/serve/completion_request.h"
#include "program/serve/fields.h"

using namespace tessera;
using namespace tessera::serve;

namespace {

void check(const ApiError& error) {
  if (!nlohmann::json::parse(error.json()).contains("error")) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  fuzz::write_seeds(
      *argc, *argv,
      {{"score", R"({"model":"m","prompt":[[1,2],[3]],"temperature":0,"max_tokens":1,"logprobs":1,)"
                 R"("seed":1234,"echo":true})"},
       {"write", R"({"prompt":["a","b"],"max_tokens":9,"top_p":0.9,"top_k":-1,"min_p":0.1,)"
                 R"("stop":["\n"],"n":2,"best_of":3,"logit_bias":{"5":-100},"stream":false})"},
       {"chat", R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],)"
                R"("logprobs":true,"top_logprobs":2,"stream_options":{"include_usage":true}})"}});
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Request http;
  http.headers["Content-Type"] = "application/json";
  http.body = {reinterpret_cast<const char*>(data), size};
  nlohmann::json body;
  try {
    body = json_body(http);
  } catch (const ApiError& error) {
    check(error);
    return 0;
  }
  for (const bool chat : {false, true}) try {
      const CompletionRequest request = chat ? chat_request(body) : completion_request(body);
      request.writing.sampling.check();
      if (request.prompts.empty() || request.writing.max_tokens < 0 || request.choices < 1 ||
          request.best_of < request.choices || request.writing.stop.size() > 16)
        std::abort();
    } catch (const ApiError& error) {
      if (error.status() != 400) std::abort();
      check(error);
    }
  return 0;
}
