#include "program/cli/asked_hosts.h"

namespace tessera::cli {

void AskedHosts::add_to(Verb& verb) {
  verb.option("--host-seconds", given.seconds,
              "Timeout per host request, in seconds; slower hosts are left out of the answer")
      .between(0.1, 86400);
  verb.option("--host-key-file", key_file,
              "File whose first line is the key that is sent to the hosts");
}

hosts::HostOptions AskedHosts::options() const {
  hosts::HostOptions options = given;
  if (!key_file.empty()) options.key = hosts::read_key(key_file);
  return options;
}

}  // namespace tessera::cli
