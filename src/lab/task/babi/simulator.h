#pragma once

#include <cstdint>
#include <filesystem>

#include "lab/task/babi/story.h"
#include "lab/task/sequence/sequence_task.h"

namespace tessera::task {

/// Story `index` of task 1 … 20, simulated: the same kinds of statements, questions, answers and
/// supporting lines as in the data set of Weston et al. 2015, in the same words. A pure function of
/// (task, seed, index). Throws UsageError on another task.
/// Differs from the data set, whose generator was read for its rules: how often what happens is
/// matched only roughly, and only what a reader can know for sure is asked.
BabiStory simulate_story(int64_t task, uint64_t seed, int64_t index);

/// Questions of a split of one task; the last story may bring a few more.
struct BabiSizes {
  int64_t training = 9000;
  int64_t validation = 1000;
  int64_t test = 1000;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("training", training, "questions to train on", config::between(1, 1e7));
    field("validation", validation, "questions to validate on", config::between(1, 1e7));
    field("test", test, "questions to test on", config::between(1, 1e7));
  }
};

/// Writes qa<task>_train.txt, qa<task>_valid.txt and qa<task>_test.txt into a folder, which is
/// created, and returns how many questions they have. Each file appears whole or not at all. Throws
/// UsageError on a task outside 1 … 20 or sizes out of bounds; SystemError.
BabiSizes write_babi_folder(const std::filesystem::path& folder, int64_t task, uint64_t seed,
                            const BabiSizes& sizes);

}  // namespace tessera::task
