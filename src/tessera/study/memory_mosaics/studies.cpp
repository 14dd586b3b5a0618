#include "tessera/study/memory_mosaics/studies.h"

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
      study("stories", "Generated stories beside BabiStories", "table 1", stories),
      study("prompts", "The 24 prompts, and questions about stories", "tables 4 and 5", prompts),
  };
}

}  // namespace tessera
