#include "lab/task/babi/simulator.h"

#include <algorithm>
#include <array>

#include "lab/task/babi/simulated_tasks.h"
#include "lab/task/sequence/sequence_task.h"
#include "tessera/base/file.h"

namespace tessera::task {
namespace {

using Simulate = void (*)(Narrator&);
constexpr std::array<Simulate, kBabiTasks> kSimulations = {simulate_single_fact,
                                                           simulate_two_facts,
                                                           simulate_three_facts,
                                                           simulate_two_arguments,
                                                           simulate_three_arguments,
                                                           simulate_yes_no,
                                                           simulate_counting,
                                                           simulate_lists,
                                                           simulate_negation,
                                                           simulate_indefinite,
                                                           simulate_coreference,
                                                           simulate_conjunction,
                                                           simulate_compound_coreference,
                                                           simulate_time,
                                                           simulate_deduction,
                                                           simulate_induction,
                                                           simulate_positions,
                                                           simulate_sizes,
                                                           simulate_path_finding,
                                                           simulate_motivations};

}  // namespace

BabiStory simulate_story(int64_t task, uint64_t seed, int64_t index) {
  check_argument(1 <= task && task <= kBabiTasks, "simulate_story: task {}, expected 1 to {}", task,
                 kBabiTasks);
  // A stream per task and story; a task has less than 2^48 stories.
  Narrator narrator(
      RandomStream(seed, static_cast<uint64_t>(task) << 48 | static_cast<uint64_t>(index)));
  kSimulations[static_cast<size_t>(task - 1)](narrator);
  return narrator.take();
}

void write_babi(int64_t task, uint64_t seed, int64_t questions,
                const std::function<void(std::string_view)>& write) {
  for (int64_t index = 0, written = 0; written < questions; ++index) {
    const BabiStory story = simulate_story(task, seed, index);
    written += std::count_if(story.begin(), story.end(),
                             [](const BabiLine& line) { return line.is_question(); });
    write(story_text(story));
  }
}

void write_babi_folder(const std::filesystem::path& folder, int64_t task, uint64_t seed,
                       const BabiSizes& sizes) {
  constexpr int64_t kMostQuestions = 10'000'000;
  check_range(task, 1, kBabiTasks, "babi: the task");
  check_range(sizes.training, 1, kMostQuestions, "babi: training questions");
  check_range(sizes.validation, 1, kMostQuestions, "babi: validation questions");
  check_range(sizes.test, 1, kMostQuestions, "babi: test questions");
  const auto write_split = [&](Split split, int64_t questions) {
    AtomicFile file(folder / babi_file_name(task, split));
    write_babi(task, split_seed(seed, split), questions,
               [&](std::string_view text) { file.write(text); });
    file.commit();
  };
  write_split(Split::kTraining, sizes.training);
  write_split(Split::kValidation, sizes.validation);
  write_split(Split::kTest, sizes.test);
}

}  // namespace tessera::task
