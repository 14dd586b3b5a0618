#include "program/serve/progress_events.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "program/serve/api_error.h"
#include "program/serve/service.h"

namespace tessera::serve {
namespace {

constexpr auto kBetweenEvents = std::chrono::milliseconds(100);

}  // namespace

Response long_answer(bool stream, int status,
                     std::function<nlohmann::ordered_json(const OnProgress&)> job) {
  if (!stream) return json_response(job([](int64_t, int64_t) {}), status);
  return Response::of_events([job = std::move(job)](EventStream& events) {
    auto told = std::chrono::steady_clock::now();
    const auto tell = [&](int64_t done, int64_t all) {
      const auto now = std::chrono::steady_clock::now();
      if (now - told < kBetweenEvents) return;
      told = now;
      events.send(json_line({{"done", done}, {"of", all}}));
    };
    try {
      events.send(json_line(job(tell)));
      events.send("[DONE]");
    } catch (...) {
      events.send(as_api_error(std::current_exception()).json());
    }
  });
}

}  // namespace tessera::serve
