#pragma once

namespace tessera {

/// Makes the networks of this room known by their names, as model_kinds() has them. A program calls
/// it when it starts; later calls do nothing.
void add_baselines();

}  // namespace tessera
