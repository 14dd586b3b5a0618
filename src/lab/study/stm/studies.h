#pragma once

#include "lab/study/study.h"

/// The studies of "Self-Attentive Associative Memory" (Le et al. 2020), whose model is called STM,
/// SAM-based two-memory model.
namespace tessera::stm_study {

constexpr const char* kPaper = "Le et al. 2020";

Study associative_retrieval();
Study nth_farthest();
Study copy();
Study priority_sort();
Study relational_recall();
Study convex_hull();
Study travelling_salesman();
Study shortest_path();
Study spanning_tree();
Study babi();
Study pong();
Study cost();
Study rank();
Study recipes();

}  // namespace tessera::stm_study
