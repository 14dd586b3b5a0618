#include "program/serve/served_hosts.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "program/serve/api_error.h"

namespace tessera::serve {

ServedHosts::ServedHosts(std::vector<std::string> addresses, const hosts::HostOptions& options)
    : addresses_(std::move(addresses)), stores_(addresses_, options) {}

nlohmann::ordered_json ServedHosts::recall(const std::string& prompt,
                                           const store::RecallOptions& options) {
  const std::lock_guard lock(asking_);
  try {
    return hosts::json_of(stores_, prompt, hosts::recall(stores_, prompt, options));
  } catch (const hosts::NoHostAnswers& error) {
    throw ApiError(503, "{}", error.what()).with_code("no_host_answers").retry_after(10);
  }
}

}  // namespace tessera::serve
