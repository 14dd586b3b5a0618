#pragma once

#include "lab/study/study.h"

/// The studies of "Self-Attentive Associative Memory" (Le et al. 2020), whose model is called STM,
/// SAM-based two-memory model.
namespace tessera {

std::vector<Study> stm_studies();

namespace stm_study {

void associative_retrieval(StudyContext&);  // table 1, figure 4
void nth_farthest(StudyContext&);           // table 2
void copy(StudyContext&);                   // figure 2
void priority_sort(StudyContext&);          // figure 2
void relational_recall(StudyContext&);      // figure 2
void convex_hull(StudyContext&);            // table 3
void travelling_salesman(StudyContext&);    // table 3
void shortest_path(StudyContext&);          // table 3
void spanning_tree(StudyContext&);          // table 3
void babi(StudyContext&);                   // tables 4 and 9
void pong(StudyContext&);                   // figure 3
void cost(StudyContext&);                   // tables 5 and 6
void rank(StudyContext&);                   // table 8

}  // namespace stm_study
}  // namespace tessera
