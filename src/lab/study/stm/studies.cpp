#include "lab/study/stm/studies.h"

namespace tessera {

std::vector<Study> stm_studies() {
  using namespace stm_study;
  return {associative_retrieval(),
          nth_farthest(),
          copy(),
          priority_sort(),
          relational_recall(),
          convex_hull(),
          travelling_salesman(),
          shortest_path(),
          spanning_tree(),
          babi(),
          pong(),
          cost(),
          rank(),
          recipes()};
}

}  // namespace tessera
