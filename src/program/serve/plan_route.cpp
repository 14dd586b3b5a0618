#include <atomic>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "program/jobs/plan_job.h"
#include "program/serve/api_error.h"
#include "program/serve/fields.h"
#include "program/serve/service.h"
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

/// A simulation uses every core, so plans take turns; few may wait.
class Turn {
 public:
  /// Throws ApiError 503 where too many wait, or where it is not wanted any more.
  explicit Turn(const ServedStore::Unwanted& unwanted) {
    static std::atomic<int64_t> waiting = 0;
    const std::shared_ptr<void> place(nullptr, [](void*) { --waiting; });
    bool refused = ++waiting > kMostWaiting;
    while (!refused && !turn_.try_lock()) {
      std::this_thread::sleep_for(kLookForClient);
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
  auto job = read_job<jobs::Plan>(request, kPlanDemands);
  if (!job.runs) job.runs = kRuns;
  const Turn turn(service.unwanted(request.hung_up));
  return json_response(theory::json_of(job.run()));
}

}  // namespace

void add_plan_route(Router& router, Service& service) {
  router.add("POST", "/v1/plan", [&](const Request& request) { return plan(service, request); });
}

}  // namespace tessera::serve
