#include "lab/study/memory_mosaics/studies.h"

namespace tessera {

std::vector<Study> memory_mosaics_studies() {
  using namespace memory_mosaics_study;
  const auto study = [](const char* id, const char* title, const char* figure,
                        void (*run)(StudyContext&)) {
    return Study{"memory-mosaics/" + std::string(id), title, "Zhang et al. 2024, Memory Mosaics",
                 figure, run};
  };
  return {
      study("language-model", "A Memory Mosaic beside a GPT of the same size", "figure 7",
            language_model),
      study("depth", "Memory Mosaics and GPTs of several depths", "figures 7 and 13", depth),
      study("small-budget", "Learning in few steps", "beside figure 7", small_budget),
      study("out-of-distribution", "Reading a text of another kind", "figure 8",
            out_of_distribution),
      study("attention", "What the last position reads", "figures 14 to 16", attention),
      study("three-moons", "Three moons: one memory, or one for each", "figures 3, 4, 5, 10",
            three_moons),
      study("stories", "Generated stories beside BabiStories", "table 1", stories),
      study("prompts", "The 24 prompts, and questions about stories", "tables 4 and 5", prompts),
      study("regbench", "Learning random languages in context", "figure 9, table 3", regbench),
  };
}

}  // namespace tessera
