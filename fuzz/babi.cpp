// Any bytes as a bAbI file: refused with a line number, or stories that are written and read again
// the same.
#include <cstdlib>
#include <sstream>

#include "fuzz/seeds.h"
#include "lab/learner/babi/babi_data.h"
#include "lab/task/babi/simulator.h"
#include "lab/task/babi/story.h"
#include "tessera/base/error.h"

using namespace tessera;

namespace {

std::vector<task::BabiStory> stories_of(std::string text) {
  task::StoryReader reader(std::make_unique<std::istringstream>(std::move(text)), "input");
  std::vector<task::BabiStory> stories;
  for (task::BabiStory story; reader.next(story);) stories.push_back(story);
  return stories;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  std::map<std::string, std::string> seeds;
  for (int64_t task : {1, 3, 7, 15, 19})
    seeds["task" + std::to_string(task)] = task::story_text(task::simulate_story(task, 0, 0));
  fuzz::write_seeds(*argc, *argv, seeds);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto stories = stories_of({reinterpret_cast<const char*>(data), size});
    std::string text;
    std::set<std::string> words;
    for (const auto& story : stories) {
      text += task::story_text(story);
      task::collect_words(story, words);
    }
    if (stories_of(text) != stories) std::abort();
  } catch (const DataError&) {
  }
  return 0;
}
