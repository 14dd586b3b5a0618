#pragma once

#include <cstdint>

#include "tessera/plan/association_task.h"

/// What better embeddings than random ones buy (Cabannes et al. 2024, sections 4 and A.9).
namespace tessera::theory {

/// Lemma 1, equation (29): below exp(d eta^2 / 4) directions, an eta-quasi-orthogonal family
/// (Definition 1, equation 22: |<u_z, u_z'>| <= eta for z != z') exists.
double quasi_orthogonal_count(int64_t dimension, double eta);

/// Model (23): argmax over y of <u_y, sum over the `stored` first inputs x' of
/// u_f(x') relu(<e_x', e_x> - eta)>, with random unit e and u. Its error falls with
/// exp(-(alpha - 1) eta^2 d / 4), but it keeps every e_x': stored * d parameters.
double rectified_lookup_error(const AssociationTask& task, int64_t stored, int64_t dimension,
                              double eta, uint64_t seed);

/// Proposition 5: e_x = u_f(x) with random unit u for the `stored_outputs` most frequent outputs
/// and 0 for the others, q(x) = 1 / (number of inputs of that output). Exact population error; an
/// input whose embedding is 0 counts as wrong.
double merged_embeddings_error(const AssociationTask& task, int32_t stored_outputs,
                               int64_t dimension, uint64_t seed);

/// Proposition 5, right side of (49): the mass of the outputs beyond the most frequent ones,
/// p(f(x) > P). Reached while P < exp(c eta^2 d).
double unstored_output_mass(const AssociationTask& task, int32_t stored_outputs);

}  // namespace tessera::theory
