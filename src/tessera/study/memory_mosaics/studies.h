#pragma once

#include "tessera/study/study.h"

namespace tessera {

/// The studies of Zhang et al. 2024 (Memory Mosaics).
std::vector<Study> memory_mosaics_studies();

}  // namespace tessera
