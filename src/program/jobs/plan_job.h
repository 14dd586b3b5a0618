#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <stop_token>
#include <string_view>

#include "tessera/base/config.h"
#include "tessera/base/interrupt.h"
#include "tessera/plan/planner.h"

namespace tessera::jobs {

/// How large an associative memory must be, or what one of a given size holds, where its inputs
/// follow a power law: `tessera plan` and POST /v1/plan.
struct Plan {
  static constexpr std::string_view kName = "plan";
  static constexpr std::string_view kDoing = "Comparing schemes";
  static constexpr std::string_view kHelp =
      "How large a memory must be for a given error, or how much a memory of a given size can hold";

  std::optional<double> alpha, error;
  std::optional<int64_t> inputs, outputs, dimension, runs;
  uint64_t seed = 1;
  bool error_only = false;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("alpha", alpha, "inputs follow a Zipf law of this exponent", config::above(0));
    field("inputs", inputs, "number of different inputs N (with alpha)", config::at_least(1));
    field("outputs", outputs, "number of different outputs M",
          config::between(1, std::numeric_limits<int32_t>::max()));
    field("error", error, "allowed error", config::inner_share());
    field("dimension", dimension, "dimension of the memory, to compute how much it can hold",
          config::between(2, theory::kMostDimension));
    field("runs", runs,
          "simulated runs to check the plan (0: none; unless given, as many as a standard "
          "error of 3 % needs)",
          config::at_least(0));
    field("seed", seed, "random seed of the simulation");
    field("error_only", error_only,
          "leave out the comparison with other schemes and what the dimension holds, which "
          "may take long");
  }

  /// Throws UsageError unless alpha, inputs and outputs are there, and one of error and dimension.
  /// on_progress: of the comparison with the other schemes. Throws Interrupted once it is asked to
  /// stop.
  theory::LawPlan run(const OnProgress& on_progress = {}, const std::stop_token& stop = {}) const;
  /// The same for another law of the inputs, whatever alpha and inputs are.
  theory::LawPlan run_on(const theory::PlannedLaw& law, const OnProgress& on_progress = {},
                         const std::stop_token& stop = {}) const;
};

}  // namespace tessera::jobs
