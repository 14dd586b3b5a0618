#include "lab/study/memory_mosaics/studies.h"

namespace tessera {

std::vector<Study> memory_mosaics_studies() {
  using namespace memory_mosaics_study;
  return {language_model(), depth(),       small_budget(), out_of_distribution(),
          attention(),      three_moons(), stories(),      prompts(),
          regbench()};
}

}  // namespace tessera
