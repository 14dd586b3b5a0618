// The main function of the laboratory's tests: networks and stories are known by name, as in the
// program.

#include <gtest/gtest.h>

#include "lab/learner/laboratory.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  tessera::task::add_laboratory();
  return RUN_ALL_TESTS();
}
