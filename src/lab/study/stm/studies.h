#pragma once

#include <ATen/core/Tensor.h>

#include "lab/study/study.h"
#include "lab/task/sequence/sequence_task.h"
#include "tessera/report/tiles.h"

/// The studies of "Self-Attentive Associative Memory" (Le et al. 2020), whose model is called STM,
/// SAM-based two-memory model.
namespace tessera::stm_study {

constexpr Paper kPaper = {"stm", "Le et al. 2020"};

/// The numerical rank of a matrix: the squared Frobenius norm over the squared largest singular
/// value (Rudelson & Vershynin 2007; Le et al. 2020, appendix G). Between 1 and the rank; 0 of
/// a matrix of zeros. Throws UsageError on anything but a matrix.
double numerical_rank(const at::Tensor& matrix);

/// The first samples of a task over points or graphs with their solutions marked, as in Le et al.
/// 2020, figure 5. Points stand where they are, the nodes of a graph on a circle.
Sketches solved_samples(const task::SequenceTask& task, uint64_t seed, int64_t count);

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
