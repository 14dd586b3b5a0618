#include "lab/study/stm/solved_samples.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/task/sequence/task_kinds.h"

namespace tessera::stm_study {
namespace {

/// Lines that are marked, of one sample of a task.
int64_t marked_lines(const task::SequenceTask& task) {
  const Table table = solved_samples(task, /*seed=*/3, /*count=*/1).numbers();
  int64_t marked = 0;
  for (const auto& row : table.rows()) marked += row.back().shown() == "yes";
  return marked;
}

TEST(SolvedSamples, MarkTheClosedWayThroughTheAnswer) {
  for (const char* name : {"convex-hull", "travelling-salesman"}) {
    const auto task = task::make_task(name, {{"max_points", 8}});
    EXPECT_EQ(marked_lines(*task), std::ssize(task->describe(3, 0).at("answer"))) << name;
  }
}

TEST(SolvedSamples, MarkTheEdgesOfPathAndTree) {
  const auto path = task::make_task("shortest-path", config::Json::object());
  EXPECT_EQ(marked_lines(*path), std::ssize(path->describe(3, 0).at("answer")) - 1);
  const auto tree = task::make_task("spanning-tree", config::Json::object());
  const config::Json sample = tree->describe(3, 0);
  EXPECT_EQ(marked_lines(*tree), std::ssize(sample.at("features")) - 1);
  EXPECT_EQ(solved_samples(*tree, 3, 1).numbers().rows().size(),
            sample.at("features").size() + sample.at("edges").size());
}

}  // namespace
}  // namespace tessera::stm_study
