#include "lab/task/babi/simulator.h"

#include <algorithm>
#include <utility>

#include "lab/task/babi/simulated_tasks.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"

namespace tessera::task {
namespace {

void (*simulation_of(int64_t task))(Narrator&) {
  for (const Simulations part : {simulated_moves(), simulated_claims(), simulated_facts()})
    for (const Simulation& simulation : part)
      if (simulation.task == task) return simulation.tell;
  throw UsageError("simulate_story: task {}, expected 1 to {}", task, kBabiTasks);
}

}  // namespace

std::string_view Narrator::pick_but(Names names, Names others) {
  for (;;) {
    const std::string_view name = pick(names);
    if (std::find(others.begin(), others.end(), name) == others.end()) return name;
  }
}

int64_t Narrator::tell(std::string statement) {
  story_.push_back({.text = std::move(statement), .answer = {}, .support = {}});
  return std::ssize(story_);
}

void Narrator::ask(std::string question, std::string_view answer, std::vector<int64_t> support) {
  story_.push_back({std::move(question), std::string(answer), std::move(support)});
}

BabiStory simulate_story(int64_t task, uint64_t seed, int64_t index) {
  const auto tell = simulation_of(task);
  // A stream per task and story; a task has less than 2^48 stories.
  Narrator narrator(
      RandomStream(seed, static_cast<uint64_t>(task) << 48 | static_cast<uint64_t>(index)));
  tell(narrator);
  return narrator.take();
}

BabiSizes write_babi_folder(const std::filesystem::path& folder, int64_t task, uint64_t seed,
                            const BabiSizes& sizes) {
  check_range(task, 1, kBabiTasks, "babi: the task");
  config::check_demands(sizes, "babi");
  const InterruptGuard guard;
  const auto write_split = [&](Split split, int64_t questions) {
    AtomicFile file(folder / babi_file_name(task, split));
    int64_t written = 0;
    for (int64_t index = 0; written < questions; ++index) {
      InterruptGuard::stop_if_interrupted("interrupted before all files were written");
      const BabiStory story = simulate_story(task, split_seed(seed, split), index);
      written += std::ranges::count_if(story, &BabiLine::is_question);
      file.write(story_text(story));
    }
    file.commit();
    return written;
  };
  return {write_split(Split::kTraining, sizes.training),
          write_split(Split::kValidation, sizes.validation), write_split(Split::kTest, sizes.test)};
}

}  // namespace tessera::task
