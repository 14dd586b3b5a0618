#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <thread>

#include "program/jobs/plan_job.h"
#include "program/serve/api_error.h"
#include "program/serve/fields.h"
#include "program/serve/service.h"
#include "program/serve/unwanted.h"
#include "tessera/base/error.h"
#include "tessera/plan/planner.h"

namespace tessera::serve {
namespace {

/// What the server demands beyond the job, so that a plan takes seconds.
const Demands kPlanDemands = {
    {"alpha", config::between(0, 100)},         {"inputs", config::between(1, 1e6)},
    {"outputs", config::between(1, 1e6)},       {"error", config::between(1e-9, 1 - 1e-9)},
    {"dimension", config::between(2, 1 << 20)}, {"runs", config::between(0, 20)}};
constexpr int64_t kRuns = 3;  // simulated where the request does not say how many
constexpr int64_t kMostWaiting = 8;

/// A simulation uses every core, so plans take turns; few may wait. Throws ApiError 503 where too
/// many wait, or where the plan is not wanted any more.
std::unique_lock<std::timed_mutex> turn_to_plan(const Unwanted& unwanted) {
  static std::timed_mutex planning;
  static std::atomic<int64_t> waiting = 0;
  const std::shared_ptr<void> place(nullptr, [](void*) { --waiting; });
  std::unique_lock turn(planning, std::defer_lock);
  if (++waiting > kMostWaiting || !wait_for_turn(turn, unwanted))
    throw ApiError(503, "other memories are being planned; try again later")
        .with_code("overloaded")
        .retry_after(5);
  return turn;
}

Response plan(const Service& service, const Request& request) {
  auto job = read_job<jobs::Plan>(request, kPlanDemands);
  if (!job.runs) job.runs = kRuns;
  const Unwanted unwanted = service.unwanted(request.hung_up);
  const auto turn = turn_to_plan(unwanted);
  std::stop_source stop;
  // Looks whether the plan is still wanted, until it is there.
  const std::jthread watch([&](const std::stop_token& planned) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any changed;
    const auto is_planned = [&] { return planned.stop_requested(); };
    while (!changed.wait_for(lock, planned, kLookForClient, is_planned) && !stop.stop_requested())
      if (unwanted()) stop.request_stop();
  });
  try {
    return json_response(theory::json_of(job.run({}, stop.get_token())));
  } catch (const Interrupted&) {
    throw given_up();
  }
}

}  // namespace

void add_plan_route(Router& router, Service& service) {
  router.add("POST", "/v1/plan", [&](const Request& request) { return plan(service, request); });
}

}  // namespace tessera::serve
