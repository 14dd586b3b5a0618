#pragma once

#include <ATen/core/Tensor.h>

#include "lab/study/study.h"
#include "lab/task/sequence/sequence_task.h"
#include "tessera/report/tiles.h"

/// The studies of "Self-Attentive Associative Memory" (Le et al. 2020), whose model is called STM,
/// SAM-based two-memory model.
namespace tessera::stm_study {

/// The numerical rank of a matrix: the squared Frobenius norm over the squared largest singular
/// value (Rudelson & Vershynin 2007; Le et al. 2020, appendix G). Between 1 and the rank; 0 of
/// a matrix of zeros. Throws UsageError on anything but a matrix.
double numerical_rank(const at::Tensor& matrix);

/// The first samples of a task over points or graphs with their solutions marked, as in Le et al.
/// 2020, figure 5. Points stand where they are, the nodes of a graph on a circle.
Sketches solved_samples(const task::SequenceTask& task, uint64_t seed, int64_t count);

// A function for each study; all_studies.cpp has their ids and titles.
void associative_retrieval(StudyContext& context);
void nth_farthest(StudyContext& context);
void copy(StudyContext& context);
void priority_sort(StudyContext& context);
void relational_recall(StudyContext& context);
void convex_hull(StudyContext& context);
void travelling_salesman(StudyContext& context);
void shortest_path(StudyContext& context);
void spanning_tree(StudyContext& context);
void babi(StudyContext& context);
void pong(StudyContext& context);
void cost(StudyContext& context);
void rank(StudyContext& context);
void recipes(StudyContext& context);

}  // namespace tessera::stm_study
