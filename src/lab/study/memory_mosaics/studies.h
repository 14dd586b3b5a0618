#pragma once

#include "lab/study/study.h"

/// The studies of "Memory Mosaics" (Zhang et al. 2024).
namespace tessera::memory_mosaics_study {

// A function for each study; all_studies.cpp has their ids and titles.
void language_model(StudyContext& context);
void depth(StudyContext& context);
void small_budget(StudyContext& context);
void out_of_distribution(StudyContext& context);
void regbench(StudyContext& context);
void attention(StudyContext& context);
void three_moons(StudyContext& context);
void stories(StudyContext& context);
void prompts(StudyContext& context);

}  // namespace tessera::memory_mosaics_study
