#pragma once

#include "lab/study/study.h"

/// Benchmarks of others on which the networks of several papers are compared.
namespace tessera::benchmark_study {

Study mqar();
Study needle();
Study stored_bits();

}  // namespace tessera::benchmark_study
