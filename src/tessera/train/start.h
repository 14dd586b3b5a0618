#pragma once

namespace tessera {

/// Whether a run begins in an empty folder, or goes on where the folder's last checkpoint is.
enum class Start { kNew, kResume };

}  // namespace tessera
