#include "lab/study/benchmarks/studies.h"

namespace tessera {

std::vector<Study> benchmark_studies() {
  using namespace benchmark_study;
  return {mqar(), needle(), stored_bits()};
}

}  // namespace tessera
