#include "lab/task/stories/story.h"

#include <algorithm>
#include <vector>

#include "lab/task/stories/scenes.h"

namespace tessera::task::stories {
namespace {

const std::vector<Scene>& all_scenes() {
  static const std::vector<Scene> scenes = [] {
    std::vector<Scene> all;
    for (const auto part :
         {scenes_of_things(), scenes_of_friends(), scenes_at_home(), scenes_of_nature()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return scenes;
}

/// The shares give the mean length of BabiStories, about 890 characters.
size_t draw_scenes(Teller& t) {
  return t.chance(0.45) ? 1 : t.chance(0.15) ? 3 : 2;
}

/// Details about the hero: more where less happens.
size_t draw_details(Teller& t, size_t scenes) {
  return t.random().below(5 - scenes) + (scenes == 1 ? 1 : 0);
}

}  // namespace

Story write_story(uint64_t seed, int64_t index) {
  Teller t(RandomStream(seed, index));
  open_story(t);
  size_t left = draw_scenes(t);
  add_details(t, draw_details(t, left));
  begin_first_scene(t);
  auto& names = t.story().scenes;
  while (left > 0) {
    const Scene& scene = t.pick(all_scenes());
    if (std::find(names.begin(), names.end(), scene.name) != names.end()) continue;
    if (!names.empty()) pass_time(t);
    names.emplace_back(scene.name);
    scene.play(t);
    --left;
  }
  close_story(t);
  return t.finish();
}

}  // namespace tessera::task::stories
