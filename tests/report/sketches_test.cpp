#include "tessera/report/sketches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "tessera/base/error.h"
#include "tests/report/markup_walk.h"

namespace tessera {
namespace {

using testing::HasSubstr;

/// A triangle with one marked side.
Sketch triangle(const std::string& name) {
  return {.name = name,
          .points = {{0, 0, "1"}, {1, 0, "2"}, {0, 1, "<3>"}},
          .lines = {{0, 1, "7"}, {1, 2, "", true}, {2, 0}}};
}

TEST(Sketches, DrawEveryPointLineAndLabel) {
  Sketches sketches("Graphs & paths");
  for (int i = 0; i < 5; ++i) sketches.add(triangle("sample " + std::to_string(i)));
  for (const ChartWidth width : {ChartWidth::kWide, ChartWidth::kNarrow}) {
    const Drawing drawing = sketches.draw(width);
    EXPECT_EQ(markup_fault(standalone_svg(drawing)), "");
    EXPECT_THAT(drawing.body, HasSubstr("sample 4"));
    EXPECT_THAT(drawing.body, HasSubstr("&lt;3&gt;"));
    EXPECT_THAT(drawing.body, HasSubstr("class=\"s0 line\""));
  }
  EXPECT_EQ(sketches.numbers().rows().size(), 5u * (3 + 3));
}

/// y goes upwards: the third point stands above the first.
TEST(Sketches, YGoesUpwards) {
  Sketches sketches("Up");
  sketches.add({.name = "one", .points = {{0, 0}, {0, 1}}, .lines = {{0, 1}}});
  const std::string body = sketches.draw(ChartWidth::kWide).body;
  const auto number_after = [&](const std::string& key) {
    return std::stod(body.substr(body.find(key) + key.size()));
  };
  EXPECT_GT(number_after(" y1=\""), number_after(" y2=\""));
  EXPECT_EQ(number_after(" x1=\""), number_after(" x2=\""));
}

TEST(Sketches, MayBeEmpty) {
  EXPECT_EQ(markup_fault(Sketches("None").svg()), "");
}

TEST(Sketches, RefusePointsOutsideAndLinesToNowhere) {
  Sketches sketches("Refused");
  EXPECT_THROW(sketches.add({.name = "far", .points = {{1.5, 0}}}), UsageError);
  EXPECT_THROW(sketches.add({.name = "nan", .points = {{0, std::nan("")}}}), UsageError);
  EXPECT_THROW(sketches.add({.name = "loose", .points = {{0, 0}}, .lines = {{0, 1}}}), UsageError);
  EXPECT_EQ(sketches.numbers().rows().size(), 0u);
}

}  // namespace
}  // namespace tessera
