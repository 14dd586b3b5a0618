#include "tessera/hosts/answer.h"

#include <nlohmann/json.hpp>

#include "tessera/store/store_json.h"

namespace tessera::hosts {

Answer recall(StoresOfHosts& stores, const std::string& prompt,
              const store::RecallOptions& options) {
  Answer answer;
  answer.absent = stores.ask([&] {
    answer.question = store::read_question(stores, prompt, options);
    answer.recall = store::recall(stores, answer.question.tokens, options);
  });
  return answer;
}

config::Json json_of(const StoresOfHosts& stores, const std::string& prompt, const Answer& answer) {
  config::Json json = store::json_of(stores, prompt, answer.question, answer.recall);
  json["absent"] = config::Json::array();
  for (const auto& [address, reason] : answer.absent)
    json["absent"].push_back({{"store", address}, {"reason", reason}});
  return json;
}

}  // namespace tessera::hosts
