#pragma once

#include <cstdint>
#include <span>

#include "tessera/plan/detail/stored_mass.h"

namespace tessera::theory {

/// Errors of a memory whose stored inputs the samples choose.
struct DrawnError {
  double stored = 0;      // of an input that is stored: its expectation, weighted by probability
  double not_stored = 0;  // of one that is not
};

/// The error of a memory of equal weights whose outputs have unevenly many stored inputs, f(x) =
/// rank mod M. Samples seldom count the inputs in the order of their frequency, so some outputs get
/// more places than others: their inputs, and those of outputs that get none, are read worse than
/// where each output has P / M. Inputs are taken as stored independently of each other, with
/// the chances given, and rivals as independent (RivalScores).
///
/// The first ranks are followed one by one; those of later ranks that are stored count as a Poisson
/// number an output. Cost about (P / M)^2 predicted recalls; meant for P up to some times M.
/// Throws UsageError unless outputs >= 1 and dimension >= 2.
DrawnError drawn_error(std::span<const StoredChance> chances, int64_t outputs, int64_t dimension);

}  // namespace tessera::theory
