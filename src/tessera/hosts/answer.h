#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tessera/hosts/stores_of_hosts.h"
#include "tessera/store/question.h"
#include "tessera/store/recall.h"

namespace tessera::hosts {

/// What stores recite together after a text.
struct Answer {
  store::Question question;
  store::Recall recall;
  std::vector<StoresOfHosts::Absence> absent;
};

/// store::read_question() and store::recall() of the stores. Throws as they do and as
/// StoresOfHosts::ask().
Answer recall(StoresOfHosts& stores, const std::string& prompt,
              const store::RecallOptions& options);

/// As that of one store, and "absent": the "store" and "reason" of each that is.
nlohmann::ordered_json json_of(const StoresOfHosts& stores, const std::string& prompt,
                               const Answer& answer);

}  // namespace tessera::hosts
