#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "tessera/hosts/stores_of_hosts.h"

namespace tessera::serve {

/// Stores at other hosts that answer together under one name. From any thread: questions take
/// turns.
class ServedHosts {
 public:
  /// Throws as hosts::StoresOfHosts.
  ServedHosts(std::vector<std::string> addresses, const hosts::HostOptions& options);

  const std::vector<std::string>& addresses() const { return addresses_; }
  /// hosts::recall(), as JSON. Throws ApiError 503 where no host answers.
  nlohmann::ordered_json recall(const std::string& prompt, const store::RecallOptions& options);

 private:
  std::vector<std::string> addresses_;
  std::mutex asking_;
  hosts::StoresOfHosts stores_;
};

}  // namespace tessera::serve
