#pragma once

#include "lab/study/study.h"

/// The studies of "Memory Mosaics" (Zhang et al. 2024).
namespace tessera::memory_mosaics_study {

constexpr Paper kPaper = {"memory-mosaics", "Zhang et al. 2024, Memory Mosaics"};

Study language_model();
Study depth();
Study small_budget();
Study out_of_distribution();
Study regbench();
Study attention();
Study three_moons();
Study stories();
Study prompts();

}  // namespace tessera::memory_mosaics_study
