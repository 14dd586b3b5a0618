#pragma once

namespace tessera::task {

/// Makes the laboratory's networks known by their names, as model_kinds() has them, and its stories
/// as a text to train on. A program calls it when it starts; later calls do nothing.
void add_laboratory();

}  // namespace tessera::task
