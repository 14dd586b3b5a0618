// The main function of the laboratory's tests: networks and stories are known by name, as in the
// program.

#include <gtest/gtest.h>

#include "lab/baseline/baselines.h"
#include "lab/task/pong/pong_network.h"
#include "lab/task/stories/story_files.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  tessera::add_baselines();
  tessera::task::add_pong_agent();
  tessera::task::stories::add_stories_to_corpora();
  return RUN_ALL_TESTS();
}
