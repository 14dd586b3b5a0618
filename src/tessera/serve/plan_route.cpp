#include <mutex>
#include <nlohmann/json.hpp>

#include "tessera/serve/api_error.h"
#include "tessera/serve/fields.h"
#include "tessera/serve/service.h"
#include "tessera/theory/law_plan.h"
#include "tessera/theory/law_plan_json.h"

namespace tessera::serve {
namespace {

constexpr int64_t kMostInputs = 1000000;
constexpr int64_t kMostDimension = 1 << 20;
constexpr int64_t kMostRuns = 20;

Response plan(const Request& request) {
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
  static std::mutex one_at_a_time;  // a simulation uses every core
  const std::unique_lock lock(one_at_a_time, std::try_to_lock);
  if (!lock)
    throw ApiError(503, "another memory is being planned; try again later")
        .with_code("overloaded")
        .retry_after(5);
  const auto law = theory::planned_zipf_law(*inputs, *outputs, *alpha);
  return json_response(
      theory::json_of(error ? theory::plan_for_error(law, *error, runs, seed)
                            : theory::plan_in_dimension(law, *dimension, runs, seed)));
}

}  // namespace

void add_plan_route(Router& router, Service&) {
  router.add("POST", "/v1/plan", plan);
}

}  // namespace tessera::serve
