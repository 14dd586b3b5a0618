#pragma once

#include "lab/study/study.h"

/// The studies of "Memory Mosaics" (Zhang et al. 2024).
namespace tessera {

std::vector<Study> memory_mosaics_studies();

namespace memory_mosaics_study {

void language_model(StudyContext&);       // figure 7
void depth(StudyContext&);                // figures 7 and 13
void small_budget(StudyContext&);         // beside figure 7
void out_of_distribution(StudyContext&);  // figure 8
void regbench(StudyContext&);             // figure 9, table 3
void attention(StudyContext&);            // figures 14, 15 and 16
void three_moons(StudyContext&);          // figures 3, 4, 5 and 10
void stories(StudyContext&);              // table 1
void prompts(StudyContext&);              // tables 4 and 5

}  // namespace memory_mosaics_study
}  // namespace tessera
