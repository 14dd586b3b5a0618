#include "tessera/plan/law_plan_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace tessera::theory {

using config::Json;

Json json_of(const LawPlan& plan) {
  const MemoryPlan& memory = plan.memory;
  Json json = {{"law", plan.law},
               {"inputs", plan.inputs},
               {"outputs", plan.outputs},
               {"samples", std::isinf(memory.samples) ? Json(nullptr) : Json(memory.samples)},
               {"dimension", memory.dimension},
               {"stored", memory.stored},
               {"parameters", memory.dimension * memory.dimension},
               {"predicted_error", memory.error},
               {"unseen_error", memory.unseen_error},
               {"stored_item_error", memory.stored_item_error}};
  if (const auto& runs = plan.simulated)
    json["simulated"] = {{"error", runs->mean},
                         {"standard_error", runs->standard_error()},
                         {"runs", runs->runs},
                         {"predicted_over_simulated",
                          runs->mean > 0 ? Json(memory.error / runs->mean) : Json(nullptr)}};
  for (const SchemeError& scheme : plan.schemes)
    json["schemes"].push_back({{"scheme", scheme.name}, {"predicted_error", scheme.error}});
  for (const HeldItems& held : plan.holds)
    json["holds"].push_back({{"error_per_item", held.error_per_item}, {"items", held.items}});
  return json;
}

}  // namespace tessera::theory
