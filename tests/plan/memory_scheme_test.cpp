#include "tessera/plan/association_task.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"

namespace tessera::theory {
namespace {

using Weights = std::vector<float>;

TEST(MemoryScheme, FromTheTrueLaw) {
  const std::vector<double> law = {0.5, 0.25, 0.125, 0.125};
  EXPECT_EQ(scheme_weights({.rho = 0}, law), (Weights{1, 1, 1, 1}));
  EXPECT_EQ(scheme_weights({.rho = 1}, law), (Weights{1, 0.5f, 0.25f, 0.25f}));
  EXPECT_EQ(scheme_weights({.rho = 2, .stored = 2}, law), (Weights{1, 0.25f, 0, 0}));
}

TEST(MemoryScheme, FromCountsForgetsTheUnseenAndBreaksTiesByIndex) {
  const std::vector<int64_t> counts = {2, 0, 4, 2, 1};
  EXPECT_EQ(scheme_weights({.rho = 0}, counts), (Weights{1, 0, 1, 1, 1}));
  EXPECT_EQ(scheme_weights({.rho = 1}, counts), (Weights{0.5f, 0, 1, 0.5f, 0.25f}));
  EXPECT_EQ(scheme_weights({.rho = 0, .stored = 2}, counts), (Weights{1, 0, 1, 0, 0}));
  EXPECT_EQ(scheme_weights({.rho = 0, .stored = 5}, counts), (Weights{1, 0, 1, 1, 1}));
}

TEST(MemoryScheme, RefusesMoreThanThereIs) {
  const std::vector<double> law = {0.75, 0.25};
  EXPECT_THROW(scheme_weights({.rho = 0, .stored = 3}, law), UsageError);
  EXPECT_THROW(scheme_weights({.rho = 0, .stored = 0}, law), UsageError);
  EXPECT_THROW(scheme_weights({.rho = -0.5}, law), UsageError);
}

}  // namespace
}  // namespace tessera::theory
