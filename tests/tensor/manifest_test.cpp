#include "tessera/tensor/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tessera {
namespace {

TEST(Manifest, NamesSeedDateBuildAndMachine) {
  const config::Json json = manifest(UINT64_MAX);
  EXPECT_EQ(json["seed"].get<uint64_t>(), UINT64_MAX);
  EXPECT_THAT(json["date"].get<std::string>(),
              testing::MatchesRegex("[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+Z"));
  EXPECT_FALSE(json["revision"].get<std::string>().empty());
  EXPECT_THAT(json["libraries"]["openblas"].get<std::string>(), testing::HasSubstr("OpenBLAS"));
  EXPECT_THAT(json["libraries"]["libtorch"].get<std::string>(), testing::ContainsRegex("^[0-9]"));
  EXPECT_FALSE(json["libraries"]["openblas_kernels"].get<std::string>().empty());
  EXPECT_GT(json["machine"]["memory_gib"].get<double>(), 0.0);
  EXPECT_GT(json["machine"]["cores"].get<int>(), 0);
  EXPECT_TRUE(json["machine"]["instruction_sets"].is_array());
}

TEST(Manifest, IsValidUtf8AndTheBuildPartIsRepeatable) {
  EXPECT_NO_THROW(manifest(1).dump());
  EXPECT_EQ(build_description(), build_description());
}

}  // namespace
}  // namespace tessera
