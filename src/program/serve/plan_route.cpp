#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "program/serve/api_error.h"
#include "program/serve/fields.h"
#include "program/serve/service.h"
#include "tessera/plan/law_plan.h"

namespace tessera::serve {
namespace {

constexpr int64_t kMostInputs = 1000000;
constexpr int64_t kMostDimension = 1 << 20;
constexpr int64_t kMostRuns = 20;
constexpr int64_t kMostWaiting = 8;
constexpr auto kLook = std::chrono::milliseconds(20);  // between two at whether a plan is wanted

/// A simulation uses every core, so plans take turns; few may wait.
class Turn {
 public:
  /// Throws ApiError 503 where too many wait, or where it is not wanted any more.
  explicit Turn(const ServedStore::Unwanted& unwanted) {
    static std::atomic<int64_t> waiting = 0;
    const std::shared_ptr<void> place(nullptr, [](void*) { --waiting; });
    bool refused = ++waiting > kMostWaiting;
    while (!refused && !turn_.try_lock()) {
      std::this_thread::sleep_for(kLook);
      refused = unwanted();
    }
    if (!refused) return;
    throw ApiError(503, "other memories are being planned; try again later")
        .with_code("overloaded")
        .retry_after(5);
  }
  ~Turn() { turn_.unlock(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  static inline std::mutex turn_;
};

Response plan(const Service& service, const Request& request) {
  const auto body = json_body(request);
  const Fields fields(body);
  const auto alpha = fields.number("alpha", 0, 100);
  const auto inputs = fields.integer("inputs", 1, kMostInputs);
  const auto outputs = fields.integer("outputs", 1, kMostInputs);
  if (!alpha) fields.refuse("alpha", "the exponent of the inputs' Zipf law");
  if (!inputs) fields.refuse("inputs", "the number of different inputs");
  if (!outputs) fields.refuse("outputs", "the number of different outputs");
  const auto error = fields.number("error", 1e-9, 1 - 1e-9);
  const auto dimension = fields.integer("dimension", 2, kMostDimension);
  if (error.has_value() == dimension.has_value())
    throw ApiError(400,
                   "give either 'error', to learn the size, or 'dimension', to learn what it "
                   "holds")
        .about("error");
  const int64_t runs = fields.integer("runs", 3, 0, kMostRuns);
  const auto seed = static_cast<uint64_t>(fields.integer("seed", 1, 0, INT64_MAX));
  const Turn turn(service.unwanted(request));
  const auto law = theory::planned_zipf_law(*inputs, *outputs, *alpha);
  return json_response(
      theory::json_of(error ? theory::plan_for_error(law, *error, runs, seed)
                            : theory::plan_in_dimension(law, *dimension, runs, seed)));
}

}  // namespace

void add_plan_route(Router& router, Service& service) {
  router.add("POST", "/v1/plan", [&](const Request& request) { return plan(service, request); });
}

}  // namespace tessera::serve
