#include "lab/study/stm/studies.h"

namespace tessera {

std::vector<Study> stm_studies() {
  using namespace stm_study;
  const auto study = [](const char* id, const char* title, const char* figure,
                        void (*run)(StudyContext&)) {
    return Study{"stm/" + std::string(id), title, "Le et al. 2020", figure, run};
  };
  return {
      study("associative-retrieval", "Which digit came with a letter", "table 1 and figure 4",
            associative_retrieval),
      study("nth-farthest", "Which vector is the k-th farthest from another", "table 2",
            nth_farthest),
      study("copy", "Repeating random vectors", "figure 2", copy),
      study("priority-sort", "Returning random vectors by priority", "figure 2", priority_sort),
      study("relational-recall", "Returning the nearest or the farthest item", "figure 2",
            relational_recall),
      study("convex-hull", "Naming the corners of points' convex hull", "table 3", convex_hull),
      study("travelling-salesman", "Naming points in the order of their shortest tour", "table 3",
            travelling_salesman),
      study("shortest-path", "Naming the nodes of the shortest path", "table 3, figure 6",
            shortest_path),
      study("spanning-tree", "Naming the edges of the minimum spanning tree", "table 3, figure 6",
            spanning_tree),
      study("babi", "Answering questions about stories", "tables 4 and 9", babi),
      study("pong", "Learning to play Pong", "figure 3", pong),
      study("cost", "What outer-product attention and the models cost", "tables 5 and 6", cost),
      study("rank", "The numerical rank of the relational distillation", "table 8", rank),
  };
}

}  // namespace tessera
