#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>

#include "tessera/base/config.h"
#include "tessera/serve/api_error.h"
#include "tessera/serve/fields.h"
#include "tessera/serve/service.h"
#include "tessera/theory/law_plan.h"

namespace tessera::serve {
namespace {

using config::Json;

constexpr int64_t kMostInputs = 1000000;
constexpr int64_t kMostDimension = 1 << 20;
constexpr int64_t kMostRuns = 20;

Json json_of(const theory::LawPlan& plan) {
  const theory::MemoryPlan& memory = plan.memory;
  Json json = {{"law", plan.law},
               {"inputs", plan.inputs},
               {"outputs", plan.outputs},
               {"samples", std::isinf(memory.samples) ? Json(nullptr) : Json(memory.samples)},
               {"dimension", memory.dimension},
               {"stored", memory.stored},
               {"parameters", memory.dimension * memory.dimension},
               {"predicted_error", memory.error},
               {"unseen_error", memory.unseen_error},
               {"stored_item_error", memory.stored_item_error},
               {"simulated", nullptr},
               {"schemes", Json::array()},
               {"holds", Json::array()}};
  if (const auto& runs = plan.simulated)
    json["simulated"] = {
        {"error", runs->mean}, {"standard_deviation", runs->deviation}, {"runs", runs->runs}};
  for (const theory::SchemeError& scheme : plan.schemes)
    json["schemes"].push_back({{"scheme", scheme.name}, {"predicted_error", scheme.error}});
  for (const theory::HeldItems& held : plan.holds)
    json["holds"].push_back({{"error_per_item", held.error_per_item}, {"items", held.items}});
  return json;
}

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
  const std::lock_guard lock(one_at_a_time);
  const auto law = theory::planned_zipf_law(*inputs, *outputs, *alpha);
  return json_response(json_of(error ? theory::plan_for_error(law, *error, runs, seed)
                                     : theory::plan_in_dimension(law, *dimension, runs, seed)));
}

}  // namespace

void add_plan_route(Router& router, Service&) {
  router.add("POST", "/v1/plan", plan);
}

}  // namespace tessera::serve
