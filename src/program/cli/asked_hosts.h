#pragma once

#include <string>

#include "program/cli/verb.h"
#include "tessera/hosts/stores_of_hosts.h"

namespace tessera::cli {

/// What verbs that ask stores at other hosts are told of these.
struct AskedHosts {
  hosts::HostOptions given = {};  ///< but for the key
  std::string key_file = {};

  void add_to(Verb& verb) {
    verb.option("--host-seconds", given.seconds,
                "Timeout per host request, in seconds; slower hosts are left out of the answer")
        .between(0.1, 86400);
    verb.option("--host-key-file", key_file,
                "File whose first line is the key that is sent to the hosts");
  }
  /// With the key, if a file is given. Throws as hosts::read_key().
  hosts::HostOptions options() const {
    hosts::HostOptions options = given;
    if (!key_file.empty()) options.key = hosts::read_key(key_file);
    return options;
  }
};

}  // namespace tessera::cli
