#pragma once

#include <memory>

#include "tessera/train/rendezvous.h"

namespace tessera {
class Processes;
}

namespace tessera::cli {

/// The processes that a launcher has started, this one among them; null where it is alone. Those of
/// one machine divide its threads. Throws UsageError where they run different versions.
std::unique_ptr<Processes> meet_processes(const Rendezvous& rendezvous);

}  // namespace tessera::cli
