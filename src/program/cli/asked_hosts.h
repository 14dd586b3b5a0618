#pragma once

#include <string>

#include "program/cli/verb.h"
#include "tessera/hosts/stores_of_hosts.h"

namespace tessera::cli {

/// What verbs that ask stores at other hosts are told of these.
struct AskedHosts {
  hosts::HostOptions given = {};  ///< but for the key
  std::string key_file = {};

  /// --host-seconds and --host-key-file.
  void add_to(Verb& verb);
  /// With the key, if a file is given. Throws as hosts::read_key().
  hosts::HostOptions options() const;
};

}  // namespace tessera::cli
